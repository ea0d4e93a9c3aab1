#include <fmt/format.h>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

namespace {

schema::Value plain(const std::string& more) {
  return schema::parse(fmt::format(R"({{"type": "plain_conv_unet", "num_classes": 3, {}}})", more),
                       "test.json");
}

const char* kThreeStages = R"("in_chans": 2, "features_per_stage": [4, 6, 8],
    "strides": [[1, 1, 1], [1, 2, 2], [2, 2, 2]],
    "kernel_sizes": [[1, 3, 3], [3, 3, 3], [3, 3, 3]])";

std::int64_t parameters(const std::string& more) {
  return build(plain(more), make_meta(), {})->parameter_count();
}

}  // namespace

TEST_CASE("plain_conv_unet: as many parameters as nnU-Net's, less the head without weight",
          "[models]") {
  // dynamic-network-architectures 0.4.4, of the plans in tests/experiment/planning.
  const std::int64_t of_head = 3;  // its bias, and 3 numbers for each of its channels
  CHECK(parameters(R"("in_chans": 1, "features_per_stage": [32, 64, 128, 256],
      "strides": [[1, 1, 1], [2, 2, 2], [2, 2, 2], [2, 2, 2]],
      "kernel_sizes": [[3, 3, 3], [3, 3, 3], [3, 3, 3], [3, 3, 3]])") ==
        5603177 - of_head - 3 * 128);
  CHECK(parameters(R"("in_chans": 1)") == 31196399 - of_head - 3 * 320);
  CHECK(parameters(R"("in_chans": 2, "features_per_stage": [32, 64, 128, 256, 320, 320, 320],
      "strides": [[1, 1, 1], [1, 2, 2], [1, 2, 2], [2, 2, 2], [2, 2, 2], [1, 2, 2], [1, 2, 2]],
      "kernel_sizes": [[1, 3, 3], [1, 3, 3], [3, 3, 3], [3, 3, 3], [3, 3, 3], [3, 3, 3],
                       [3, 3, 3]])") == 44578770 - of_head - 3 * 320);
}

TEST_CASE("plain_conv_unet: output and gradients are PyTorch's", "[models]") {
  const auto network = build(plain(kThreeStages), cpu(), {}, DType::kFloat64);
  std::vector<nn::NamedTensor> parameters = network->parameters();
  for (nn::NamedTensor& named : parameters)
    set_values(named.tensor, ops::mul(ramp(named.tensor.shape(), 7, 23), 1.0 / 8));
  const auto maps = (*network)({.image = ramp({1, 2, 4, 8, 12}, 5, 13)}).maps;
  REQUIRE(maps.size() == 1);
  REQUIRE(maps[0].shape() == Shape{1, 3, 4, 8, 12});
  const std::vector<double> values = to_doubles(maps[0]);
  const std::vector<double> expected = {
      -0.18217979828117817,  -0.1798992058198683,   -0.21057469147738747, -0.11495566027262422,
      -0.22272117899179947,  -0.20578274163572474,  -0.19820605116026713, -0.22471791862042786,
      0.0004687994538480761, -0.024908196825479567, 0.030798846118774967, -0.016171928446424705};
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(values.at(97 * i) == Approx(expected[i]).epsilon(1e-9).margin(1e-12));
  backward_ramp(maps[0]);
  const auto gradient = [&](const std::string& name) {
    for (const nn::NamedTensor& named : parameters) {
      if (named.name != name) continue;
      const Tensor all = ops::mul(named.tensor.grad(), ramp(named.tensor.shape(), 3, 11));
      double sum = 0;
      for (const double value : to_doubles(all)) sum += value;
      return sum;
    }
    return 0.0;
  };
  CHECK(gradient("encoder.stages.0.0.convs.0.conv.weight") == Approx(48.21485346645487));
  CHECK(gradient("decoder.transpconvs.0.weight") == Approx(-0.04214375990913011));
  CHECK(gradient("encoder.stages.1.0.convs.0.norm.weight") == Approx(1.4413540004012797));
}

TEST_CASE("plain_conv_unet: names that files of nnU-Net have besides are known", "[models]") {
  const auto network = build(plain(kThreeStages), make_meta(), {});
  for (const char* name :
       {"encoder.stages.0.0.convs.0.all_modules.0.weight",
        "decoder.encoder.stages.0.0.convs.0.conv.weight", "decoder.seg_layers.0.weight"})
    CHECK(network->is_unused(name));
  CHECK_FALSE(network->is_unused("decoder.seg_layers.1.weight"));
}

TEST_CASE("plain_conv_unet: maps of coarser stages are for training with their loss", "[models]") {
  const std::string four = R"("in_chans": 1, "features_per_stage": [2, 2, 2, 2],
      "strides": [[1, 1, 1], [2, 2, 2], [1, 2, 2], [2, 2, 2]],
      "kernel_sizes": [[3, 3, 3], [3, 3, 3], [3, 3, 3], [3, 3, 3]])";
  const auto shapes = [&](const std::string& more) {
    const auto network = build(plain(four + more), make_meta(), {});
    std::vector<Shape> all;
    for (const Tensor& map :
         (*network)({.image = Tensor::empty({2, 1, 4, 8, 8}, DType::kFloat32, make_meta())}).maps)
      all.push_back(map.shape());
    return all;
  };
  CHECK(shapes("") == std::vector<Shape>{{2, 3, 4, 8, 8}, {2, 3, 2, 4, 4}});
  CHECK(shapes(R"(, "deep_supervision": false)") == std::vector<Shape>{{2, 3, 4, 8, 8}});
}

TEST_CASE("plain_conv_unet: stages and sizes that do not fit are refused", "[models]") {
  CHECK_THROWS_WITH(parameters(R"("in_chans": 1, "img_size": [32, 32, 40])"),
                    Catch::Contains("expected multiples of 32 x 32 x 32"));
  CHECK_THROWS_WITH(parameters(R"("in_chans": 1, "features_per_stage": [8, 16])"),
                    Catch::Contains("strides, kernel_sizes: of 6 and 6 stages"));
  CHECK_THROWS_WITH(parameters(R"("in_chans": 1, "features_per_stage": [8], "strides": [[1, 1, 1]],
      "kernel_sizes": [[3, 3, 3]])"),
                    Catch::Contains("expected at least 2"));
}
