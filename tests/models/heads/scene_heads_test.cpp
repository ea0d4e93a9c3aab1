#include "models/heads/scene_heads.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/losses/loss.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using models::FcnHead;
using models::SegFpnHead;
using models::UperHead;

namespace {

nn::Build scene_init() { return {cpu(), DType::kFloat64, RandomStream(2), nn::Init::kTorch}; }

// Away from the start of batch norms, where ReLUs stand at their kink for half of what they see.
void unsettle(const nn::Module& module) {
  std::uint64_t seed = 50;
  for (const nn::NamedTensor& named : module.parameters()) {
    const Tensor noise = random_tensor(named.tensor.shape(), ++seed);
    set_values(named.tensor, ops::add(named.tensor.detach(), ops::mul(noise, 0.3)));
  }
}

template <class Head>
void check_head(Head& head, std::vector<Tensor> maps) {
  unsettle(head);
  const std::size_t count = maps.size();
  for (const nn::NamedTensor& named : head.parameters()) maps.push_back(named.tensor);
  check_gradients(
      [&](const std::vector<Tensor>& t) {
        if constexpr (std::is_same_v<Head, FcnHead>) {
          return head(t[0]);
        } else {
          return head({t.begin(), t.begin() + static_cast<std::ptrdiff_t>(count)});
        }
      },
      maps);
}

schema::Value with_backbone(const char* type, const std::string& backbone,
                            const std::string& more = "") {
  return schema::parse(fmt::format(R"({{"type": "{}", "backbone": {}{}}})", type, backbone, more),
                       "test.json");
}

const char* const kTinyPvt = R"({"type": "pvt_v2_b0", "embed_dims": [2, 4], "depths": [1, 1],
    "num_heads": [1, 2], "mlp_ratios": [2, 2], "sr_ratios": [2, 1]})";

}  // namespace

TEST_CASE("scene heads: gradients of maps and parameters, at odd sizes", "[models]") {
  SegFpnHead fpn(scene_init(), {{2, 4}, {3, 8}, {2, 16}}, 2, 3);
  check_head(fpn, {random_tensor({2, 2, 7, 6}, 1), random_tensor({2, 3, 4, 3}, 2),
                   random_tensor({2, 2, 2, 2}, 3)});
  UperHead uper(scene_init(),
                {.in_channels = {2, 3}, .pool_scales = {1, 2}, .channels = 2, .num_classes = 3});
  check_head(uper, {random_tensor({2, 2, 5, 4}, 1), random_tensor({2, 3, 3, 2}, 2)});
  FcnHead fcn(scene_init(), 3, 2, 2, 3);
  check_head(fcn, {random_tensor({2, 3, 4, 3}, 1)});
}

TEST_CASE("scene heads: names of mmseg", "[models]") {
  const SegFpnHead fpn(scene_init(), {{8, 4}, {8, 8}, {8, 16}, {8, 32}}, 6, 5);
  const auto names = nn::named_tensors(fpn);
  for (const char* name :
       {"scale_heads.0.0.conv.weight", "scale_heads.1.0.bn.bias", "scale_heads.2.2.conv.weight",
        "scale_heads.3.4.bn.running_var", "conv_seg.bias"})
    CHECK(names.contains(name));
  CHECK_FALSE(names.contains("scale_heads.1.2.conv.weight"));
  CHECK_FALSE(names.contains("scale_heads.0.0.conv.bias"));
  CHECK(names.at("scale_heads.3.0.conv.weight").shape() == Shape{6, 8, 3, 3});
  CHECK(names.at("scale_heads.3.2.conv.weight").shape() == Shape{6, 6, 3, 3});
}

TEST_CASE("scene heads: maps that do not fit are refused", "[models]") {
  CHECK_THROWS_WITH(SegFpnHead(scene_init(), {{2, 4}, {2, 12}}, 2, 2),
                    Catch::Contains("maps of strides 4 and 12"));
  CHECK_THROWS_WITH(UperHead(scene_init(), {.in_channels = {2}, .num_classes = 2}),
                    Catch::Contains("1 maps; expected two at least"));
  CHECK_THROWS_WITH(FcnHead(scene_init(), 2, 2, 0, 2), Catch::Contains("0 convolutions"));
  SegFpnHead fpn(scene_init(), {{2, 4}, {2, 8}}, 2, 2);
  CHECK_THROWS_WITH(fpn({random_tensor({1, 2, 4, 4}, 1)}), Catch::Contains("1 maps; expected 2"));
}

TEST_CASE("semantic_fpn, upernet: parameters and multiply-adds of every size", "[models]") {
  struct Expected {
    const char* backbone;
    std::int64_t fpn, uper;
    double fpn_macs, uper_macs;  // 10^9, at 512 x 2048, without the auxiliary head
  };
  // mala 5.1, 5.3.
  for (const Expected& e : {Expected{"mavit_t", 17597590, 43654956, 136.2, 893.0},
                            Expected{"mavit_s", 28307542, 54528748, 180.4, 937.2},
                            Expected{"mavit_b", 50998902, 77408524, 292.6, 1050.3},
                            Expected{"mavit_l", 97918518, 125311180, 424.5, 1182.8}}) {
    INFO(e.backbone);
    const std::string backbone = fmt::format(R"({{"type": "{}"}})", e.backbone);
    const auto measured = [&](const char* type, const std::string& more) {
      const Device meta = make_meta();
      const auto model = build(with_backbone(type, backbone, more), meta, {3, 512, 2048, 150});
      autograd::Profiler profiler;
      const autograd::NoGrad no_grad;
      const autograd::Profile scope(profiler);
      (*model)({.image = Tensor::empty({1, 3, 512, 2048}, DType::kFloat32, meta)});
      return std::pair{model->parameter_count(),
                       1e-9 * static_cast<double>(model->paper_macs(profiler.events()).value())};
    };
    const auto fpn = measured("semantic_fpn", "");
    CHECK(fpn.first == e.fpn);
    CHECK(fpn.second == Approx(e.fpn_macs).margin(0.8));
    const auto uper = measured("upernet", "");
    CHECK(uper.first == e.uper);
    CHECK(uper.second == Approx(e.uper_macs).margin(0.8));
    CHECK(measured("upernet", R"(, "auxiliary_head": false)").second == uper.second);
  }
}

TEST_CASE("semantic_fpn, upernet: state-dict names, and pyramids of every backbone", "[models]") {
  const Device meta = make_meta();
  const std::string swin = R"({"type": "swin_t"})";
  const auto fpn = build(with_backbone("semantic_fpn", swin), meta, {3, 64, 64, 150});
  const auto named = nn::named_tensors(*fpn);
  for (const char* name : {"backbone.patch_embed.proj.weight", "neck.lateral_convs.3.conv.bias",
                           "neck.fpn_convs.0.conv.weight", "decode_head.conv_seg.weight"})
    CHECK(named.contains(name));
  const auto uper = build(with_backbone("upernet", swin), meta, {3, 64, 64, 150});
  const auto names = nn::named_tensors(*uper);
  for (const char* name :
       {"decode_head.psp_modules.3.1.conv.weight", "decode_head.fpn_bottleneck.bn.weight",
        "decode_head.lateral_convs.2.conv.weight", "decode_head.fpn_convs.2.bn.running_mean",
        "decode_head.bottleneck.conv.weight", "auxiliary_head.convs.0.conv.weight",
        "auxiliary_head.conv_seg.bias"})
    CHECK(names.contains(name));
  for (const models::BackboneEntry& entry : models::backbones()) {
    INFO(entry.name);
    for (const char* type : {"semantic_fpn", "upernet"}) {
      const auto model = build(with_backbone(type, fmt::format(R"({{"type": "{}"}})", entry.name)),
                               meta, {3, 64, 96, 7});
      const auto maps =
          (*model)({.image = Tensor::empty({2, 3, 64, 96}, DType::kFloat32, meta)}).maps;
      CHECK(maps.front().shape() == Shape{2, 7, 64, 96});
    }
  }
}

TEST_CASE("upernet: the auxiliary map is of the second coarsest level, and may be left out",
          "[models]") {
  const Tensor image = random_tensor({2, 3, 20, 28}, 1, DType::kFloat32);
  const auto maps_of = [&](const char* more) {
    const std::string options = fmt::format(R"(, "channels": 4, "auxiliary_channels": 3{})", more);
    return (*build(with_backbone("upernet", kTinyPvt, options), cpu(), {3, 20, 28, 5}))(
               {.image = image})
        .maps;
  };
  const auto both = maps_of("");
  REQUIRE(both.size() == 2);
  CHECK(both[0].shape() == Shape{2, 5, 20, 28});
  CHECK(both[1].shape() == Shape{2, 5, 5, 7});
  const auto one = maps_of(R"(, "auxiliary_head": false)");
  REQUIRE(one.size() == 1);
  CHECK(max_difference(one[0], both[0]) == 0.0);
}

TEST_CASE("semantic_fpn, upernet: gradients of every parameter of a small network",
          "[models][long]") {
  const Tensor image = random_tensor({2, 3, 16, 24}, 1);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>(2 * 16 * 24, 1), {2, 16, 24}, cpu());
  edit<std::int64_t>(labels, [](std::span<std::int64_t> all) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i % 5 == 0 ? -100 : i % 3 == 0 ? 0 : 2;
  });
  for (const char* type : {"semantic_fpn", "upernet"}) {
    const bool uper = std::string(type) == "upernet";
    const auto model = build(with_backbone(type, kTinyPvt,
                                           uper ? R"(, "channels": 2, "pool_scales": [1, 2],
                                                      "auxiliary_channels": 2)"
                                                : R"(, "channels": 2, "neck_channels": 3)"),
                             cpu(), {3, 16, 24, 3}, DType::kFloat64);
    unsettle(*model);
    check_directions(*model, [&] {
      const std::vector<double> weights = uper ? std::vector{1.0, 0.4} : std::vector{1.0};
      return ops::over_maps((*model)({.image = image}).maps, weights, {16, 24},
                            [&](const Tensor& map) {
                              return ops::pixel_cross_entropy(map, labels, {.count_ignored = true});
                            });
    });
  }
}
