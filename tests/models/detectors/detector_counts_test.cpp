// Parameters and multiply-adds of detectors. mala 5.1, 5.3, kcla 3.4.

#include <fmt/format.h>

#include "base/error.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;

namespace {

struct Counted {
  std::int64_t all = 0;
  std::int64_t trained = 0;
};

Counted counted(const std::string& type, const std::string& backbone,
                const std::string& more = "") {
  const schema::Value options = schema::parse(
      fmt::format(R"({{"type": "{}", "backbone": {}{}}})", type, backbone, more), "test.json");
  const auto model = build(options, make_meta(), {3, 0, 0, 80});
  Counted found{model->parameter_count(), 0};
  for (const nn::NamedTensor& named : model->parameters()) {
    if (named.tensor.requires_grad()) found.trained += named.tensor.numel();
  }
  return found;
}

std::vector<autograd::Event> events_of(models::Model& model, std::int64_t batch, std::int64_t h,
                                       std::int64_t w) {
  const Device meta = make_meta();
  autograd::Profiler profiler;
  const autograd::NoGrad no_grad;
  const autograd::Profile scope(profiler);
  model.forward_dummy({.image = Tensor::empty({batch, 3, h, w}, DType::kFloat32, meta),
                       .image_size = Tensor::empty({batch, 2}, DType::kInt64, meta)});
  return profiler.events();
}

std::string resnet(const char* depth, const std::string& layer_attention = "null") {
  return fmt::format(R"({{"type": "resnet{}", "layer_attention": {}}})", depth, layer_attention);
}

struct WithBackbone {
  std::string backbone;
  std::int64_t all, trained;
};

// With the stem and the first stage frozen, as kcla trains.
void check_counts(const char* type, const std::vector<WithBackbone>& rows) {
  for (const WithBackbone& e : rows) {
    INFO(type << " " << e.backbone);
    const Counted found = counted(type, e.backbone, R"(, "frozen_stages": 1)");
    CHECK(found.all == e.all);
    CHECK(found.trained == e.trained);
  }
}

}  // namespace

TEST_CASE("detectors: parameters with every size of MAViT", "[models]") {
  struct Expected {
    const char* backbone;
    std::int64_t mask_rcnn, cascade, retinanet;
  };
  for (const Expected& e : {Expected{"mavit_t", 33498352, 71333554, 23580916},
                            Expected{"mavit_s", 44208304, 82043506, 34290868},
                            Expected{"mavit_b", 66899664, 104734866, 56974036},
                            Expected{"mavit_l", 113819280, 151654482, 104188564}}) {
    INFO(e.backbone);
    const std::string backbone = fmt::format("\"{}\"", e.backbone);
    CHECK(counted("mask_rcnn", backbone).all == e.mask_rcnn);
    CHECK(counted("cascade_mask_rcnn", backbone).all == e.cascade);
    CHECK(counted("retinanet", backbone).all == e.retinanet);
  }
}

TEST_CASE("detectors: multiply-adds with every size of MAViT, with the second stage", "[models]") {
  struct Expected {
    const char* backbone;
    double mask_rcnn, cascade, retinanet;  // 10^9, at 800 x 1280
  };
  const auto measured = [](const char* type, const char* backbone) {
    const Device meta = make_meta();
    const auto model = build(options_of(type, {{"backbone", backbone}}), meta, {3, 0, 0, 80});
    return 1e-9 * static_cast<double>(model->paper_macs(events_of(*model, 1, 800, 1280)).value());
  };
  // mala 5.3, whose numbers have layer norms and GELU as well.
  for (const Expected& e :
       {Expected{"mavit_t", 219.3, 0, 200.7}, Expected{"mavit_s", 262.5, 741.1, 243.9},
        Expected{"mavit_b", 372.1, 850.7, 353.0}, Expected{"mavit_l", 500.9, 979.5, 481.8}}) {
    INFO(e.backbone);
    CHECK(measured("mask_rcnn", e.backbone) == Approx(e.mask_rcnn).margin(0.7));
    if (e.cascade > 0)
      CHECK(measured("cascade_mask_rcnn", e.backbone) == Approx(e.cascade).margin(0.7));
    CHECK(measured("retinanet", e.backbone) == Approx(e.retinanet).margin(0.7));
  }
}

TEST_CASE("detectors: what the second stage costs", "[models]") {
  const auto macs = [](const std::string& type, const std::string& rpn, const std::string& rcnn,
                       std::int64_t batch, bool training) {
    const schema::Value options = schema::parse(
        fmt::format(R"({{"type": "{}", "backbone": "resnet18", "rpn": {}, "rcnn": {}}})", type, rpn,
                    rcnn),
        "test.json");
    const auto model = build(options, make_meta(), {3, 0, 0, 80});
    model->train(training);
    std::map<std::string, std::int64_t> found;  // by head
    for (const autograd::Event& event : events_of(*model, batch, 64, 96)) {
      for (const char* head : {"bbox_head", "mask_head", "rpn_head"}) {
        if (event.module.find(head) != std::string::npos) found[head] += event.macs;
      }
    }
    return found;
  };
  // Fully connected layers of a region: 256 maps of 7 x 7, twice 1024, 81 classes, 80 boxes.
  const std::int64_t box = 256 * 49 * 1024 + 1024 * 1024 + 1024 * (81 + 320);
  // Four convolutions at 14 x 14, the one that doubles the sides, 80 masks at 28 x 28.
  const std::int64_t mask = 4 * 196 * 9 * 256 * 256 + 784 * 256 * 256 + 784 * 256 * 80;
  auto found = macs("mask_rcnn", "{}", "{}", 1, false);
  CHECK(found["bbox_head"] == 1000 * box);
  CHECK(found["mask_head"] == 100 * mask);
  found = macs("mask_rcnn", R"({"max_per_img": 300})", R"({"max_per_img": 20})", 2, false);
  CHECK(found["bbox_head"] == 2 * 300 * box);
  CHECK(found["mask_head"] == 2 * 20 * mask);
  found = macs("mask_rcnn", "{}", "{}", 2, true);  // 512 regions, a quarter of them positive
  CHECK(found["bbox_head"] == 2 * 512 * box);
  CHECK(found["mask_head"] == 2 * 128 * mask);
  CHECK(macs("mask_rcnn", "{}", R"({"positive_fraction": 0})", 1, true)["mask_head"] == 0);
  found = macs("faster_rcnn", "{}", "{}", 1, false);
  CHECK(found["bbox_head"] == 1000 * box);
  CHECK_FALSE(found.contains("mask_head"));
  CHECK(macs("cascade_mask_rcnn", "{}", "{}", 1, false)["mask_head"] == 3 * 100 * mask);
}

TEST_CASE("detectors: parameters with ResNets, and those that are trained", "[models]") {
  struct Expected {
    const char* type;
    const char* depth;
    std::int64_t all, trained;
  };
  for (const Expected& e : {Expected{"faster_rcnn", "50", 41753056, 41527712},
                            Expected{"faster_rcnn", "101", 60745184, 60519840},
                            Expected{"mask_rcnn", "50", 44396336, 44170992},
                            Expected{"mask_rcnn", "101", 63388464, 63163120}}) {
    INFO(e.type << " " << e.depth);
    const Counted found = counted(e.type, resnet(e.depth), R"(, "frozen_stages": 1)");
    CHECK(found.all == e.all);
    CHECK(found.trained == e.trained);
    const Counted whole = counted(e.type, resnet(e.depth));
    CHECK(whole.all == e.all);
    CHECK(whole.trained == e.all);
  }
}

TEST_CASE("detectors: parameters with attention across the layers of ResNets", "[models]") {
  const std::string kcla = R"({"type": "kcla", "head_dim": 32})";
  CHECK(counted("faster_rcnn", resnet("50", kcla)).all == 42008634);
  CHECK(counted("faster_rcnn", resnet("101", kcla)).all == 61228809);
  CHECK(counted("mask_rcnn", resnet("50", kcla)).all == 44651914);
  CHECK(counted("mask_rcnn", resnet("101", kcla)).all == 63872089);
  const std::string dla = R"({"type": "dla_l", "reduction": 20})";
  CHECK(counted("faster_rcnn", resnet("50", dla)).all == 44208392);
  CHECK(counted("faster_rcnn", resnet("101", dla)).all == 63409586);
  // Published without what is frozen.
  const std::string frozen = R"(, "frozen_stages": 1)";
  CHECK(counted("faster_rcnn", resnet("50", "\"mrla_l\""), frozen).trained == 41699886);
  CHECK(counted("faster_rcnn", resnet("101", "\"mrla_l\""), frozen).trained == 60901080);
  CHECK(counted("mask_rcnn", resnet("50", "\"mrla_l\""), frozen).trained == 44343166);
  CHECK(counted("mask_rcnn", resnet("101", "\"mrla_l\""), frozen).trained == 63544360);
}

TEST_CASE("detectors: parameters with recurrent layer aggregation", "[models]") {
  // kcla Table III has 41.8, 60.9, 44.4 and 63.6 million, as trained.
  check_counts("faster_rcnn", {{R"("rla_resnet50")", 42034656, 41785568},
                               {R"("rla_resnet101")", 61167136, 60918048}});
  check_counts("mask_rcnn", {{R"("rla_resnet50")", 44677936, 44428848},
                             {R"("rla_resnet101")", 63810416, 63561328}});
}

TEST_CASE("detectors: parameters with blocks of context in ResNets", "[models]") {
  // kcla Table III has 46.5 and 65.5 million.
  const std::string nl = R"({"type": "non_local", "stages": [3], "blocks": "before_last"})";
  check_counts("mask_rcnn",
               {{resnet("50", nl), 46496048, 46270704}, {resnet("101", nl), 65488176, 65262832}});
  // 46.9, 54.4, 68.1 and 82.2 million: the last two lie between the counts.
  const auto gc = [](int reduction) {
    return fmt::format(R"({{"type": "gc", "reduction": {}, "stages": [2, 3, 4]}})", reduction);
  };
  check_counts("mask_rcnn", {{resnet("50", gc(16)), 46918077, 46692733},
                             {resnet("50", gc(4)), 54397245, 54171901},
                             {resnet("101", gc(16)), 68176526, 67951182},
                             {resnet("101", gc(4)), 82350158, 82124814}});
}

TEST_CASE("detectors: parameters with bridge attention", "[models]") {
  // kcla Table III has 44.7, 66.4 and 47.3 million, as trained.
  check_counts("faster_rcnn", {{resnet("50", "\"ba\""), 44902400, 44646048},
                               {resnet("101", "\"ba\""), 66686336, 66429984}});
  check_counts("mask_rcnn", {{resnet("50", "\"ba\""), 47545680, 47289328}});
}
