#include "visualise/maps/map_signs.h"

#include <catch2/catch.hpp>

#include "tests/support/tensors.h"

using namespace fovea;
using visualise::LayerSigns;

TEST_CASE("map signs: negative and zero weights of each layer, over passes", "[visualise]") {
  attention::Probe probe;
  const auto map = [](const std::vector<double>& values, const Shape& shape) {
    return Tensor::from(values, shape, test::cpu());
  };
  probe.record_signed(map({0.5, -0.25, 0, 0.75}, {1, 1, 2, 2}));
  probe.record("gate", map({-1, -1}, {1, 2}));  // no map
  std::vector<LayerSigns> layers;
  visualise::add_signs(probe, layers);
  visualise::add_signs(probe, layers);
  REQUIRE(layers.size() == 1);
  CHECK(layers[0].weights == 8);
  CHECK(layers[0].negative == 2);
  CHECK(layers[0].zero == 2);
  CHECK(layers[0].least == -0.25);
  CHECK(layers[0].negative_share() == 25);
  CHECK(layers[0].zero_share() == 25);
}

TEST_CASE("map signs: padding of units does not count", "[visualise]") {
  attention::Probe probe;
  const Tensor tokens = Tensor::from(std::vector<std::int64_t>{0, 1, 2, -1}, {2, 2}, test::cpu());
  probe.record_units(
      Tensor::from(std::vector<double>{0.5, -0.5, 1, 0, 1, 0, 0, 0}, {1, 1, 2, 2, 2}, test::cpu()),
      tokens, true);
  std::vector<LayerSigns> layers;
  visualise::add_signs(probe, layers);
  const LayerSigns total = visualise::total_of(layers);
  CHECK(total.weights == 5);
  CHECK(total.negative == 1);
  CHECK(total.zero == 1);
  CHECK(visualise::signs_csv({total}) == "layer,weights,negative,zero,least\nall,5,1,1,-0.5\n");
}
