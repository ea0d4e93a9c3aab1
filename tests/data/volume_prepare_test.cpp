#include "data/volume_prepare.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using namespace fovea::data;

TEST_CASE("volumes: halves of the new size go to the even number", "[data]") {
  CHECK(resampled_size({5, 7, 4}, {1, 1, 1}, {2, 2, 2}) == VolumeSides{2, 4, 2});
  CHECK(resampled_size({10, 10, 10}, {3, 1, 1}, {1.5, 0.8, 2}) == VolumeSides{20, 12, 5});
}

TEST_CASE("volumes: resampling keeps a linear ramp away from the ends, and labels labels",
          "[data]") {
  std::vector<float> ramp;
  std::vector<std::int64_t> labels;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 8; ++k) {
      ramp.push_back(static_cast<float>(10 * i + k));
      labels.push_back(i * k % 3);
    }
  }
  const auto twice = resample_volume(ramp, {4, 1, 8}, {8, 1, 16});
  // The third place of either axis lies at 2.5 / 2 - 0.5 = 0.75.
  CHECK(twice[2 * 16 + 2] == Approx(10 * 0.75 + 0.75));
  CHECK(twice[0] == Approx(0));           // clamped
  CHECK(twice.back() == Approx(30 + 7));  // clamped
  const auto slices = resample_volume(ramp, {4, 1, 8}, {8, 1, 16}, true);
  CHECK(slices[2 * 16 + 2] == Approx(10 * 1 + 0.75));
  CHECK(resample_volume(ramp, {4, 1, 8}, {4, 1, 8}) == ramp);
  CHECK(resample_labels(labels, {4, 1, 8}, {4, 1, 8}) == labels);
  CHECK(resample_labels(labels, {4, 1, 8}, {2, 1, 4})[1] == labels[8 + 3]);
}

TEST_CASE("volumes: intensities of a foreground, and by them", "[data]") {
  std::vector<float> values;
  for (int i = 0; i <= 1000; ++i) values.push_back(static_cast<float>(i));
  const Intensities by = intensities_of(values);
  CHECK(by.low == Approx(5));
  CHECK(by.high == Approx(995));
  CHECK(by.mean == Approx(500));
  std::vector<float> some = {-50, 500, 2000};
  normalise_ct(some, by);
  CHECK(some[0] == Approx((5 - 500) / by.std));
  CHECK(some[1] == Approx(0));
  CHECK(some[2] == Approx((995 - 500) / by.std));
  CHECK_THROWS_AS(intensities_of({}), ConfigError);
  std::vector<float> mr = {1, 3, 100};
  normalise_mr(mr, std::vector<std::uint8_t>{1, 1, 0});
  CHECK(mr[0] == Approx(-1));
  CHECK(mr[1] == Approx(1));
  CHECK(mr[2] == 0);
}
