#include "models/heads/fpn.h"

#include <cmath>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using models::ExtraConvs;
using models::Fpn;
using models::FpnOptions;

namespace {

nn::Build fpn_init(DType dtype = DType::kFloat64) {
  return {cpu(), dtype, RandomStream(2), nn::Init::kTorch};
}

// Sizes that do not halve evenly.
std::vector<Tensor> odd_levels() {
  return {random_tensor({2, 2, 7, 9}, 1), random_tensor({2, 3, 4, 5}, 2),
          random_tensor({2, 4, 2, 3}, 3)};
}

double greatest(const Tensor& x) { return largest(to_doubles(x)); }

}  // namespace

TEST_CASE("fpn: maps of the levels' sizes and of extra ones", "[models]") {
  const std::vector<Tensor> levels = odd_levels();
  const auto shapes = [&](const FpnOptions& o) {
    Fpn fpn(fpn_init(), o);
    std::vector<Shape> found;
    for (const Tensor& map : fpn(levels)) found.push_back(map.shape());
    return found;
  };
  using Shapes = std::vector<Shape>;
  CHECK(shapes({.in_channels = {2, 3, 4}, .out_channels = 5, .num_outs = 3}) ==
        Shapes{{2, 5, 7, 9}, {2, 5, 4, 5}, {2, 5, 2, 3}});
  CHECK(shapes({.in_channels = {2, 3, 4}, .out_channels = 5, .num_outs = 4}) ==
        Shapes{{2, 5, 7, 9}, {2, 5, 4, 5}, {2, 5, 2, 3}, {2, 5, 1, 2}});
  CHECK(shapes({.in_channels = {2, 3, 4},
                .out_channels = 5,
                .num_outs = 4,
                .start_level = 1,
                .extra_convs = ExtraConvs::kOnInput}) ==
        Shapes{{2, 5, 4, 5}, {2, 5, 2, 3}, {2, 5, 1, 2}, {2, 5, 1, 1}});
}

TEST_CASE("fpn: gradients of levels and parameters, names of mmdet", "[models]") {
  for (const ExtraConvs extra : {ExtraConvs::kNone, ExtraConvs::kOnInput}) {
    Fpn fpn(fpn_init(), {.in_channels = {2, 3, 4},
                         .out_channels = 2,
                         .num_outs = 4,
                         .start_level = 1,
                         .extra_convs = extra});
    std::vector<Tensor> inputs = odd_levels();
    for (const nn::NamedTensor& named : fpn.parameters()) inputs.push_back(named.tensor);
    inputs.erase(inputs.begin());  // a level below start_level is not read
    check_gradients(
        [&](const std::vector<Tensor>& t) {
          std::vector<Tensor> values;
          for (const Tensor& map : fpn({random_tensor({2, 2, 7, 9}, 1), t[0], t[1]}))
            values.push_back(ops::reshape(map, {map.numel()}));
          return ops::concat(values, 0);
        },
        inputs);
    const std::map<std::string, Tensor> named = nn::named_tensors(fpn);
    CHECK(named.at("lateral_convs.1.conv.weight").shape() == Shape{2, 4, 1, 1});
    CHECK(named.at("fpn_convs.0.conv.bias").shape() == Shape{2});
    CHECK(named.contains("fpn_convs.2.conv.weight") == (extra == ExtraConvs::kOnInput));
  }
}

TEST_CASE("fpn: the first extra map is made of the backbone's last level", "[models]") {
  const auto maps_of = [](double at_last) {
    Fpn fpn(fpn_init(), {.in_channels = {2, 2},
                         .out_channels = 2,
                         .num_outs = 4,
                         .extra_convs = ExtraConvs::kOnInput});
    const Tensor last = ops::mul(random_tensor({1, 2, 3, 3}, 2), at_last);
    return fpn({random_tensor({1, 2, 6, 6}, 1), last});
  };
  // Without biases the extra maps of a level of zeros are zero, and others are linear in it.
  const std::vector<Tensor> none = maps_of(0), once = maps_of(1), twice = maps_of(2);
  for (const std::size_t i : {2, 3}) {
    CHECK(greatest(none[i]) == 0.0);
    CHECK(greatest(once[i]) > 0.0);
    CHECK(max_difference(ops::mul(once[i], 2), twice[i]) < 1e-12);
  }
}

TEST_CASE("fpn: weights begin in Xavier's uniform range, biases at zero", "[models]") {
  Fpn fpn(fpn_init(), {.in_channels = {64}, .out_channels = 32, .num_outs = 1});
  const std::map<std::string, Tensor> named = nn::named_tensors(fpn);
  const double lateral = std::sqrt(6.0 / (64 + 32)), spatial = std::sqrt(6.0 / (9 * (32 + 32)));
  CHECK(greatest(named.at("lateral_convs.0.conv.weight")) == Approx(lateral).epsilon(0.01));
  CHECK(greatest(named.at("fpn_convs.0.conv.weight")) == Approx(spatial).epsilon(0.01));
  CHECK(greatest(named.at("lateral_convs.0.conv.weight")) <= lateral);
  CHECK(greatest(named.at("fpn_convs.0.conv.weight")) <= spatial);
  CHECK(greatest(named.at("fpn_convs.0.conv.bias")) == 0.0);
}

TEST_CASE("fpn: levels that do not fit are refused", "[models]") {
  CHECK_THROWS_WITH(Fpn(fpn_init(), {.in_channels = {2, 3}, .num_outs = 1}),
                    Catch::Contains("num_outs is 1 with 2 levels from level 0 on"));
  CHECK_THROWS_WITH(Fpn(fpn_init(), {.in_channels = {2, 3}, .start_level = 2}),
                    Catch::Contains("start_level is 2 with 2 levels"));
  Fpn fpn(fpn_init(), {.in_channels = {2, 3, 4}, .out_channels = 2, .num_outs = 3});
  CHECK_THROWS_WITH(fpn({random_tensor({1, 2, 4, 4}, 1)}), Catch::Contains("1 maps; expected 3"));
}
