#include "explain/baselines.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"

using namespace fovea;
using explain::Baseline;
using explain::baseline_image;
using explain::Image;

TEST_CASE("baselines: zero, the image's mean, black", "[explain]") {
  const Image x{2, 1, 2, {1, 3, -4, 8}};
  CHECK(baseline_image(x, {Baseline::kZero}, {}).values == std::vector<float>{0, 0, 0, 0});
  CHECK(baseline_image(x, {Baseline::kMean}, {}).values == std::vector<float>{2, 2, 2, 2});
  CHECK(baseline_image(x, {Baseline::kBlack}, {{0.5, 0.25}, {0.25, 0.5}}).values ==
        std::vector<float>{-2, -2, -0.5f, -0.5f});
  CHECK_THROWS_WITH(baseline_image(x, {Baseline::kBlack}, {{0.5}, {0.25}}),
                    Catch::Contains("black needs the mean and standard deviation"));
}

TEST_CASE("baselines: blur of a point is the Gaussian, reflected at the border", "[explain]") {
  // sigma 0.3: |k| <= floor(1.7) = 1; weights e^(-1 / 0.18) : 1 : e^(-1 / 0.18).
  const double side = std::exp(-1 / 0.18), centre = 1 / (1 + 2 * side), edge = side * centre;
  const auto inner = baseline_image({1, 1, 5, {0, 0, 1, 0, 0}}, {Baseline::kBlur, 0.3}, {}).values;
  CHECK(inner[2] == Approx(centre).epsilon(1e-6));
  CHECK(inner[1] == Approx(edge).epsilon(1e-6));
  CHECK(inner[0] == 0);
  // At the border the point is seen twice: d c b a | a b c d.
  const auto outer = baseline_image({1, 1, 4, {1, 0, 0, 0}}, {Baseline::kBlur, 0.3}, {}).values;
  CHECK(outer[0] == Approx(centre + edge).epsilon(1e-6));
}

TEST_CASE("baselines: blur keeps the mean, whatever its width", "[explain]") {
  const Image x{1, 3, 4, {5, -1, 2, 7, 0, 3, 3, 1, 9, -6, 4, 2}};
  for (const double sigma : {0.2, 1.0, 20.0}) {
    const auto values = baseline_image(x, {Baseline::kBlur, sigma}, {}).values;
    double sum = 0;
    for (const float v : values) sum += v;
    CHECK(sum == Approx(29).epsilon(1e-5));
  }
  const Image flat{1, 4, 4, std::vector<float>(16, 3.0f)};
  for (const float v : baseline_image(flat, {Baseline::kBlur, {}}, {}).values)
    CHECK(v == Approx(3).epsilon(1e-6));
}
