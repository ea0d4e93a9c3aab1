#include "experiment/costs/growth.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::experiment;

namespace {

const std::vector<double> kLayers = {20, 38, 74, 110, 155, 200};

template <class F>
GrowthRate rate_of(F f) {
  std::vector<double> y;
  for (const double x : kLayers) y.push_back(f(x));
  return growth_rate(kLayers, y);
}

Variation variation_of(const char* file, const std::vector<std::string>& own) {
  return [=](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = own;
    overrides.insert(overrides.end(), more.begin(), more.end());
    const auto path = std::filesystem::path(test::source_dir()) / "experiments" / file;
    return parse(resolve(load_unresolved(path, overrides)));
  };
}

}  // namespace

TEST_CASE("growth_rate: powers have their exponents", "[experiment]") {
  const double power = GENERATE(0.5, 1.0, 2.0, 2.5);
  const GrowthRate rate = rate_of([&](double x) { return 7 * std::pow(x, power); });
  CHECK(rate.exponent == Approx(power));
  CHECK(rate.last == Approx(power));
}

TEST_CASE("growth_rate: the part of the square at the last point", "[experiment]") {
  CHECK(rate_of([](double x) { return 3 + 2 * x; }).square == Approx(0).margin(1e-9));
  CHECK(rate_of([](double x) { return x * x; }).square == Approx(1));
  const GrowthRate mixed = rate_of([](double x) { return 50 * x + x * x; });
  CHECK(mixed.square == Approx(200.0 / 250));
  CHECK(mixed.exponent > 1.3);
  CHECK(mixed.last > mixed.exponent);
  CHECK(mixed.last < 2);
}

TEST_CASE("growth_rate: what cannot be fitted is NaN", "[experiment]") {
  CHECK(std::isnan(growth_rate(std::vector<double>{20}, std::vector<double>{1}).exponent));
  const GrowthRate two = growth_rate(std::vector<double>{20, 40}, std::vector<double>{1, 4});
  CHECK(two.exponent == Approx(2));
  CHECK(std::isnan(two.square));
  CHECK(std::isnan(rate_of([](double x) { return x - 20; }).exponent));  // 0 has no logarithm
  CHECK(std::isnan(rate_of([](double) { return NAN; }).last));
}

TEST_CASE("measure_depths: multiply-adds are those of kcla figure 6", "[experiment]") {
  const auto depths = measure_depths(variation_of("kcla/figure6_depth.json", {}),
                                     {{2, 12}, {"standard", "mrla_b"}});
  REQUIRE(depths.size() == 2);
  CHECK(depths[1].layers == 110);
  const Depth& depth = depths[0];
  CHECK(depth.layers == 20);
  REQUIRE(depth.added.size() == 2);
  CHECK(static_cast<double>(depth.added[0].macs) == Approx(3.453e6).epsilon(1e-3));
  CHECK(static_cast<double>(depth.added[1].macs) == Approx(2.418e6).epsilon(1e-3));
  CHECK(depth.added[0].peak_bytes > 0);
  CHECK(std::isnan(depth.added[0].ms));
}

TEST_CASE("measure_depths: the peak of a step that is run is about the counted one",
          "[experiment]") {
  const auto variation =
      variation_of("kcla/figure6_depth.json", {"dataset.img_size=8", "model.planes=[4,8,16]"});
  const Depth counted = measure_depths(variation, {{1, 3}, {"mrla_b"}})[1];
  double done = -1;
  const auto progress = [&](double share) {
    CHECK(share > done);
    done = share;
  };
  const Depth measured = measure_depths(variation, {{1, 3}, {"mrla_b"}, 1, progress})[1];
  CHECK(done == 0.5);
  CHECK(measured.backbone.ms > 0);
  CHECK(measured.added[0].ms_spread == 0);
  CHECK(measured.added[0].macs == counted.added[0].macs);
  // Kernels need some memory of their own, and there is the optimiser's state.
  const auto ratio = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
  };
  CHECK(ratio(measured.added[0].peak_bytes, counted.added[0].peak_bytes) == Approx(1).margin(0.3));
}

TEST_CASE("measure_depths: basic blocks have two layers; other networks are refused",
          "[experiment]") {
  const GrowthSettings settings{{3}};
  const auto basic = variation_of("kcla/figure6_depth.json", {"model.block=basic"});
  CHECK(measure_depths(basic, settings).at(0).layers == 20);
  for (const char* other : {"kcla/segmentation.json", "smoke/dgvit.json"}) {
    CHECK_THROWS_AS(measure_depths(variation_of(other, {}), settings), ConfigError);
  }
}
