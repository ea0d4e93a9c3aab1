#include "visualise/maps/rollouts/unit_rollout.h"

#include <catch2/catch.hpp>

#include <numeric>

#include "backend/devices.h"
#include "base/error.h"

using namespace fovea;
using visualise::UnitMap;

namespace {

// Three tokens in two units of two places, of which the last one is padding; one head.
attention::Probe::Record record(const std::vector<float>& weights) {
  const Device host = make_cpu(1);
  return {"blocks.0.attn", "unit_attn", Tensor::from(weights, {1, 1, 2, 2, 2}, host),
          Tensor::from(std::vector<std::int64_t>{2, 0, 1, -1}, {2, 2}, host)};
}

}  // namespace

TEST_CASE("unit rollout: rows are those of the tokens, without padding", "[visualise]") {
  const UnitMap map(record({0.25f, 0.75f, 0.5f, 0.5f, 0.4f, 0.6f, 0.0f, 0.0f}));
  CHECK(map.tokens() == 3);
  const std::vector<double> dense = map.dense();
  const std::vector<double> expected = {0.5, 0, 0.5, 0, 1, 0, 0.75, 0, 0.25};
  for (std::size_t i = 0; i < 9; ++i) CHECK(dense[i] == Approx(expected[i]));
}

TEST_CASE("unit rollout: the last block comes first, and weights stay weights", "[visualise]") {
  const UnitMap first(record({0.25f, 0.75f, 0.5f, 0.5f, 1, 0, 0, 0}));
  const UnitMap last(record({1, 0, 1, 0, 1, 0, 0, 0}));  // tokens 0 and 2 look at 2
  const auto row = visualise::unit_rollout({first, last}, {1, 0, 0});
  // (1, 0, 0) -> (1/2, 0, 1/2) -> half of that and half of its sum of rows 0 and 2 of `first`.
  CHECK(row[0] == Approx(0.25 + 0.25 * (0.5 + 0.75)));
  CHECK(row[2] == Approx(0.25 + 0.25 * (0.5 + 0.25)));
  CHECK(std::accumulate(row.begin(), row.end(), 0.0) == Approx(1));
  CHECK_THROWS_AS(visualise::unit_rollout({first}, {1, 0}), ShapeError);
  const Tensor whole = Tensor::from(std::vector<float>{1}, {1, 1, 1, 1}, make_cpu(1));
  CHECK_THROWS_AS(UnitMap({"blocks.0.attn", "attn", whole, {}}), ShapeError);
}

TEST_CASE("unit rollout: rows of the maps on the tokens", "[visualise]") {
  const auto units = record({0.25f, 0.75f, 0.5f, 0.5f, 0.4f, 0.6f, 0.0f, 0.0f});
  const Tensor all = visualise::unit_rows(units, 0, -1);
  REQUIRE(all.shape() == Shape{1, 3, 3});
  const auto values = all.host_values<double>();
  const std::vector<double> expected = {0.5, 0, 0.5, 0, 0.4, 0, 0.75, 0, 0.25};
  for (std::size_t i = 0; i < 9; ++i) CHECK(values[i] == Approx(expected[i]));
  const Tensor last = visualise::unit_rows(units, 2, 1);
  REQUIRE(last.shape() == Shape{1, 1, 3});
  CHECK(last.host_values<double>()[0] == Approx(0.75));
  CHECK_THROWS_AS(visualise::unit_rows(units, 2, 2), ShapeError);
}
