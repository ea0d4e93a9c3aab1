#include "data/volumes/volume_prepare.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "data/volumes/volume_plan.h"

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
  const auto slices = resample_volume(ramp, {4, 1, 8}, {8, 1, 16}, std::size_t{0});
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

TEST_CASE("volumes: a constant foreground is not divided by 0", "[data]") {
  std::vector<float> values = {3, 3, 4};
  normalise_ct(values, {.low = 3, .high = 3, .mean = 3, .std = 0});
  CHECK(values == std::vector<float>{0, 0, 0});
}

TEST_CASE("volumes: slices stay by themselves along the one axis that is coarse", "[data]") {
  CHECK(separate_axis({5, 1, 1}, {1, 1, 1}) == 0u);
  CHECK(separate_axis({1, 5, 1}, {1, 1, 1}) == 1u);
  CHECK(separate_axis({1, 1, 1}, {1, 1, 5}) == 2u);
  CHECK(separate_axis({1, 5, 1}, {5, 1, 1}) == 1u);  // the file's own comes first
  CHECK_FALSE(separate_axis({3, 1, 1}, {1, 1, 1}));  // three times as far is not more
  // Two axes are coarse: there is no plane to stay in, whatever the other spacing is.
  CHECK_FALSE(separate_axis({0.24, 1.25, 1.25}, {5, 1, 1}));
}

TEST_CASE("volumes: of a large foreground 10,000 voxels a case make the plan", "[data]") {
  const auto read = [](std::int64_t voxels) {
    return [voxels](std::int64_t i) {
      LabelledVoxels volume;
      static_cast<VolumeSize&>(volume) = {1, 1, voxels};
      for (std::int64_t v = 0; v < voxels; ++v) {
        volume.values.push_back(static_cast<float>(v % 1000 + i));
        volume.labels.push_back(1);
      }
      return volume;
    };
  };
  const VolumeInfo info{.class_names = {"b", "f"}, .label_values = {0, 1}, .ct = true};
  const auto small = make_plan(read(9000), 2, info, {}).channels.at(0);
  CHECK(small.mean == Approx(500).epsilon(1e-12));  // all of them
  const auto large = make_plan(read(1000000), 2, info, {}).channels.at(0);
  CHECK(large.mean == Approx(500).epsilon(0.005));
  CHECK(large.mean != Approx(500).epsilon(1e-9));
  CHECK(large.high == Approx(995).margin(3));
  const auto all = make_plan(read(1000000), 2, info, {.foreground_voxels = 0}).channels.at(0);
  CHECK(all.mean == Approx(500).epsilon(1e-12));
  CHECK(make_plan(read(1000000), 2, info, {}).text() ==
        make_plan(read(1000000), 2, info, {}).text());
}
