#include "models/volumes/dformer_stage.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/losses/volume_loss.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using models::Size3;
using models::UnitScheme;

namespace {

schema::Value volume_options(const std::string& type, const std::string& more = "") {
  return schema::parse(fmt::format(R"({{"type": "{}", "in_chans": 1{}}})", type, more),
                       "test.json");
}

struct Counted {
  std::int64_t parameters, backbone, macs, macs_paper;
  std::int64_t products;  // of attention, in macs
};

Counted counts(const std::string& type, const std::string& more, const Size3& size) {
  const Device meta = make_meta();
  const auto model = build(volume_options(type, more), meta, {});
  autograd::Profiler profiler;
  const autograd::NoGrad no_grad;
  const autograd::Profile scope(profiler);
  (*model)({.image = Tensor::empty({1, 1, size[0], size[1], size[2]}, DType::kFloat32, meta)});
  std::int64_t backbone = 0;
  for (const nn::NamedTensor& named : model->parameters())
    backbone += named.name.starts_with("model_down.") ? named.tensor.numel() : 0;
  std::int64_t products = 0;
  for (const autograd::Event& event : profiler.events())
    products += event.op.ends_with("attention") ? event.macs : 0;
  return {model->parameter_count(), backbone, profiler.forward_macs(),
          model->paper_macs(profiler.events()).value_or(0), products};
}

const Size3 kSynapse{64, 128, 128};

// A network of the case's size: 8 channels at most.
std::string tiny_dformer(const std::string& more) {
  return R"(, "num_classes": 3, "embed_dim": 2, "depths": [2, 2, 2, 2], "num_heads": [1, 1, 2, 2],
            "patch_size": [1, 2, 2], "group_size": [1, 2, 2], "mlp_ratio": 2,
            "img_size": [8, 16, 16])" +
         more;
}

}  // namespace

TEST_CASE("dformer: dropout acts while training alone, each of its two rates", "[models]") {
  const Tensor image = random_tensor({1, 1, 8, 16, 16}, 1, DType::kFloat32);
  const auto outputs = [&](const char* more, bool training) {
    const auto model =
        build(volume_options("dformer", tiny_dformer(more)), cpu(), {}, DType::kFloat32);
    model->train(training);
    const Tensor first = (*model)({.image = image}).maps.front();
    return std::pair{first, max_difference(first, (*model)({.image = image}).maps.front())};
  };
  const Tensor plain = outputs("", true).first;
  for (const char* more : {R"(, "drop_rate": 0.3)", R"(, "attn_drop_rate": 0.3)"}) {
    INFO(more);
    const auto [trained, again] = outputs(more, true);
    CHECK(max_difference(trained, plain) > 1e-4);
    CHECK(again > 1e-4);  // other draws in the next pass
    const auto [evaluated, same] = outputs(more, false);
    CHECK(max_difference(evaluated, plain) < 1e-6);
    CHECK(same == 0.0);
  }
}

TEST_CASE("dformer: parameters and multiply-adds of section 5", "[models]") {
  struct Expected {
    const char* more;
    Size3 size;
    std::int64_t parameters, macs_paper, with_products;
  };
  // dformer 5, without and with the products of attention; 0: it does not say.
  const auto e = GENERATE(values<Expected>(
      {{R"("num_classes": 14)", kSynapse, 50557248, 55777837056, 60420931584},
       {R"("num_classes": 9, "deep_supervision": "full")", kSynapse, 50553888, 55117234176,
        59760328704},
       {R"("num_classes": 4, "deep_supervision": "full")", kSynapse, 50550528, 54456631296,
        59099725824},
       {R"("num_classes": 4)", kSynapse, 50550528, 54456631296, 59099725824},
       {R"("num_classes": 14, "deep_supervision": "none")", kSynapse, 44649792, 48089677824, 0},
       {R"("num_classes": 9, "deep_supervision": "none")", kSynapse, 44649312, 47586361344, 0},
       {R"("num_classes": 4, "deep_supervision": "none")", kSynapse, 44648832, 47083044864, 0},
       {R"("num_classes": 4, "deep_supervision": "none")",
        {16, 160, 160},
        44648832,
        0,
        21922356480}}));
  CAPTURE(e.more, e.size);
  const Counted found = counts("dformer", std::string(", ") + e.more, e.size);
  CHECK(found.parameters == e.parameters);
  CHECK(found.backbone == 44353344);
  if (e.macs_paper > 0) CHECK(found.macs_paper == e.macs_paper);
  if (e.with_products > 0) CHECK(found.macs_paper + found.products == e.with_products);
}

TEST_CASE("dformer: what is computed is what the paper counts, without padding", "[models]") {
  const Counted synapse =
      counts("dformer", R"(, "num_classes": 4, "deep_supervision": "full")", kSynapse);
  CHECK(synapse.macs == 59099725824);
  // qkv and proj of 704 places in two blocks of 192 channels, and of 312 in six of 384.
  const Counted acdc =
      counts("dformer", R"(, "num_classes": 4, "deep_supervision": "none")", {16, 160, 160});
  const std::int64_t padding = 4 * (2 * 704 * 192 * 192 + 6 * 312 * 384 * 384);
  CHECK(acdc.macs == acdc.macs_paper + acdc.products - padding);
}

TEST_CASE("dformer: parameters of the ablations", "[models]") {
  struct Expected {
    const char* more;
    std::int64_t backbone;
  };
  const auto e = GENERATE(values<Expected>({{R"("attn": "ls_ls")", 44353344},
                                            {R"("attn": "ls_sw")", 44353344},
                                            {R"("dpe_position": "after_lsm")", 44353344},
                                            {R"("dpe_position": "after_gsm")", 44353344},
                                            {R"("pos_encoding": "spe")", 44294208},
                                            {R"("pos_encoding": "none")", 44294208},
                                            {R"("pos_encoding": "ape")", 47439936},
                                            {R"("pos_encoding": "rpe")", 44432172},
                                            {R"("qkv_bias": false)", 44331456},
                                            {R"("decoder_bottleneck": true)", 58550592}}));
  CAPTURE(e.more);
  const std::string more =
      fmt::format(R"(, "num_classes": 14, "img_size": [64, 128, 128], {})", e.more);
  CHECK(counts("dformer", more, kSynapse).backbone == e.backbone);
}

TEST_CASE("dformer: parameters and multiply-adds of its baselines", "[models]") {
  const Counted unet = counts("unet3d", R"(, "num_classes": 14)", kSynapse);
  CHECK(unet.parameters == 16319536);
  CHECK(unet.macs == 947677822976);
  CHECK(unet.macs_paper == 947677822976);
  const std::string sized = R"(, "num_classes": 14, "img_size": [64, 128, 128])";
  CHECK(counts("unetr", sized, kSynapse).parameters == 92814766);
  const Counted unetr = counts("unetr", sized + R"(, "conv_block": false)", kSynapse);
  CHECK(unetr.parameters == 92482990);
  CHECK(unetr.macs - unetr.products == 73987522560);
  CHECK(unetr.macs_paper == 85966454784);
}

TEST_CASE("dformer: plans of the published network", "[models]") {
  struct Stage {
    Size3 grid;
    std::int64_t interval;
    std::vector<std::int64_t> gap, unit;
    std::int64_t local_units;
  };
  // dformer 3.2.
  const auto s = GENERATE(values<Stage>({{{32, 32, 32}, 8, {16, 4, 4}, {2, 8, 8}, 256},
                                         {{16, 16, 16}, 4, {8, 2, 2}, {2, 8, 8}, 32},
                                         {{8, 8, 8}, 2, {4, 1, 1}, {2, 8, 8}, 4},
                                         {{4, 4, 4}, 1, {1, 1, 1}, {4, 4, 4}, 1},
                                         {{8, 40, 40}, 8, {4, 5, 5}, {2, 8, 8}, 100},
                                         {{4, 20, 20}, 4, {2, 2, 2}, {2, 10, 10}, 18},
                                         {{2, 10, 10}, 2, {1, 1, 1}, {2, 10, 10}, 4},
                                         {{1, 5, 5}, 1, {1, 1, 1}, {1, 5, 5}, 1}}));
  CAPTURE(s.grid);
  const models::PartitionOptions options{.interval = s.interval};
  const ops::UnitPlan global = models::partition(s.grid, UnitScheme::kGlobal, options);
  CHECK(global.count == s.gap);
  CHECK(global.unit == s.unit);
  const ops::UnitPlan local = models::partition(s.grid, UnitScheme::kLocal, options);
  CHECK(ops::Units(local, cpu()).count() == s.local_units);
}

TEST_CASE("dformer: units hold every token once, in either scheme", "[models]") {
  const auto grid = GENERATE(values<Size3>({{4, 8, 8}, {3, 9, 11}, {1, 3, 9}, {5, 4, 16}}));
  const auto scheme = GENERATE(UnitScheme::kLocal, UnitScheme::kGlobal, UnitScheme::kShifted);
  const ops::Units units(models::partition(grid, scheme, {.unit = {2, 4, 4}, .interval = 1}),
                         cpu());
  std::vector<int> seen(static_cast<std::size_t>(grid[0] * grid[1] * grid[2]), 0);
  for (const std::int64_t token : units.tokens().host_values<std::int64_t>()) {
    if (token >= 0) ++seen[static_cast<std::size_t>(token)];
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

TEST_CASE("dformer: a grid that the reference rule has no units for", "[models]") {
  models::PartitionOptions o{.unit = {2, 4, 4}, .interval = 1};
  const Size3 grid{5, 5, 9};
  CHECK(models::partition(grid, UnitScheme::kGlobal, o).count ==
        std::vector<std::int64_t>{3, 2, 3});
  o.rule = models::PartitionRule::kReference;
  CHECK_THROWS_WITH(models::partition(grid, UnitScheme::kGlobal, o),
                    Catch::Contains("\"reference\" has no global units of 2 x 4 x 4 with interval "
                                    "1 for tokens on 5 x 5 x 9"));
}

TEST_CASE("dformer: every parameter has a gradient but for the head that is never asked",
          "[models]") {
  const auto more = GENERATE(as<std::string>{}, "", R"(, "attn": "ls_sw", "pos_encoding": "rpe")",
                             R"(, "pos_encoding": "ape", "deep_supervision": "full")",
                             R"(, "dpe_position": "after_gsm", "skip_source": "stage_output")");
  CAPTURE(more);
  const auto model =
      build(volume_options("dformer", tiny_dformer(more)), cpu(), {}, DType::kFloat64);
  const Tensor image = random_tensor({1, 1, 8, 16, 16}, 1);
  std::vector<std::int64_t> classes(8 * 16 * 16);
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<std::int64_t>(i) % 3;
  const Tensor labels = Tensor::from(classes, {1, 8, 16, 16}, cpu());
  const auto loss = [&] {
    Tensor total;
    for (const Tensor& map : (*model)({.image = image}).maps) {
      const Tensor here = ops::nearest_labels(labels, map.shape().part(2, map.rank()).to_vector());
      const Tensor part = ops::nnunet_loss(map, here);
      total = total.defined() ? ops::add(total, part) : part;
    }
    return total;
  };
  autograd::backward(loss());
  for (const nn::NamedTensor& named : model->parameters()) {
    INFO(named.name);
    // The head that is never asked.
    const bool unused = named.name.starts_with("final.2.") && more.find("full") == more.npos;
    CHECK(named.tensor.grad().defined() != unused);
  }
}

TEST_CASE("dformer: what it cannot do is refused", "[models]") {
  const auto make = [](const std::string& more, models::DataShape data = {}) {
    return build(volume_options("dformer", more), make_meta(), data);
  };
  CHECK_THROWS_WITH(make(R"(, "num_classes": 3, "img_size": [64, 120, 128])"),
                    Catch::Contains("64 x 120 x 128; expected multiples of 16 x 32 x 32"));
  CHECK_THROWS_WITH(make(R"(, "num_classes": 3, "pos_encoding": "rpe")"),
                    Catch::Contains("pos_encoding rpe needs it"));
  CHECK_THROWS_WITH(make(R"(, "num_classes": 3, "pos_encoding": "ape")"),
                    Catch::Contains("pos_encoding ape needs it"));
  CHECK_THROWS_WITH(make(R"(, "num_classes": 3, "depths": [2, 2])"),
                    Catch::Contains("expected 4 each"));
  CHECK_THROWS_WITH(make(R"(, "num_classes": 3)", {1, 64, 64, 3}),
                    Catch::Contains("the images of the data set are flat"));
  models::DataShape volumes{3, 32, 32, 4};
  volumes.depth = 16;
  CHECK_THROWS_WITH(build(schema::parse(R"({"type": "unet"})", "test.json"), make_meta(), volumes),
                    Catch::Contains("the data set has volumes"));
  const auto model = make(R"(, "num_classes": 3)");
  const Tensor odd = Tensor::empty({1, 1, 16, 40, 32}, DType::kFloat32, make_meta());
  CHECK_THROWS_WITH((*model)({.image = odd}), Catch::Contains("divisible by the patch"));
}
