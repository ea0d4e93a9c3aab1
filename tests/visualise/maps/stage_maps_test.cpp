// What the blocks of a decoder do with tokens, as numbers. The golden case is visualisation_maps.
#include "visualise/maps/stage_maps.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "tests/models/network.h"
#include "tests/support/tensors.h"
#include "tests/visualise/small_decoder.h"

using namespace fovea;
using namespace fovea::test;
using namespace fovea::visualise;

TEST_CASE("decoder stages: every block by its taps, the coarsest first", "[visualise]") {
  const auto network = build(small_decoder("pvt_gdla"), cpu(), kSmallImages);
  const Tensor image = random_tensor({1, 3, 64, 32}, 4, DType::kFloat32);
  const auto stages = observe_stages(*network, image);
  REQUIRE(stages.size() == 3);
  CHECK(stages[0].name == "de1");
  CHECK(stages[0].grid_h == 4);
  CHECK(stages[0].grid_w == 2);
  CHECK(stages[2].grid_h == 16);
  CHECK(stages[2].grid_w == 8);
  attention::Probe probe;
  const autograd::NoGrad no_grad;
  (*network)({.image = image}, &probe);
  const auto same = [](const Matrix& tokens, const Tensor& record) {
    REQUIRE(record.shape() == Shape{1, tokens.rows, tokens.cols});
    for (std::size_t i = 0; i < tokens.values.size(); ++i)
      CHECK(tokens.values[i] == double{record.host_values<float>()[i]});
  };
  same(stages[1].input, probe.all("block_input")[1]);
  same(stages[1].update, probe.all("attn_delta")[1]);
  // The result is recorded as a map: channel 2 of the token in row 5, column 3.
  const Tensor map = probe.all("features").back();
  REQUIRE(map.shape() == Shape{1, 8, 16, 8});
  CHECK(stages[2].output.at(5 * 8 + 3, 2) == double{map.host_values<float>()[2 * 128 + 5 * 8 + 3]});
}

TEST_CASE("decoder stages: a network without such blocks is refused", "[visualise]") {
  const auto network =
      build(options_of("unet",
                       {{"widths", schema::Value::array(std::vector<std::int64_t>{2, 4})},
                        {"decoder_channels", schema::Value::array(std::vector<std::int64_t>{2})}}),
            cpu(), kSmallImages);
  CHECK_THROWS_WITH(observe_stages(*network, random_tensor({1, 3, 32, 32}, 4, DType::kFloat32)),
                    Catch::Contains("no decoder of attention blocks; expected pvt_gdla"));
}

TEST_CASE("decoder stages: norms, saliency and the share of the first token", "[visualise]") {
  const Matrix tokens{3, 2, {3, 4, 0, 0, 6, 8}};
  const Matrix norms = token_norms(tokens, 1, 3);
  CHECK(norms.values == std::vector<double>{5, 0, 10});
  CHECK(token_saliency(tokens)[2] == Approx(10 / std::sqrt(2)));
  CHECK(channel_saliency(tokens)[1] == Approx(std::sqrt(80.0 / 3)));
  CHECK(first_token_ratio(token_saliency(tokens)) == Approx(1));
  CHECK(first_token_ratio(std::vector<double>{0, 0}) == 1);
  CHECK_THROWS_AS(token_norms(tokens, 2, 2), ShapeError);
  CHECK_THROWS_AS(first_token_ratio({}), ShapeError);
}

TEST_CASE("decoder stages: what is shown are shares of each map's own range", "[visualise]") {
  const Matrix a{1, 2, {2, 4}}, b{1, 2, {30, 10}};
  const Matrix shown = shown_map(a, 2, 4);
  CHECK(shown.rows == 2);
  CHECK(shown.values[0] == 0);
  CHECK(shown.values[1] == 0.25);
  CHECK(shown.values[3] == 1);
  const Matrix difference = shown_difference(a, b, 1, 2);
  CHECK(difference.values == std::vector<double>{-1, 1});
  CHECK_THROWS_AS(shown_difference(a, Matrix{2, 1, {0, 1}}, 2, 2), ShapeError);
}
