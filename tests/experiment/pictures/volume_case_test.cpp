// Where a prepared volume lies in its file and in the body.
#include "experiment/pictures/volume_case.h"

#include <catch2/catch.hpp>

using namespace fovea;
using namespace fovea::experiment;

TEST_CASE("volume case: axes lie in the file as they were turned, cut and resampled",
          "[experiment]") {
  // A file of 20 slices, 30 rows and 40 columns; its columns are the depth, run backwards, of which
  // 24 from the 5th on are taken at half the resolution; its slices are the width, as they are.
  data::VolumePlace place;
  place.file = {20, 30, 40};
  place.turn = {{2, 1, 0}, {true, false, false}};
  place.first = {5, 0, 0};
  place.box = {24, 30, 20};
  const auto axes = file_axes(place, {12, 60, 20});
  CHECK(axes[0].axis == 2);
  CHECK(axes[0].size == 40);
  CHECK(axes[0].step == -2);
  CHECK(axes[0].start == 33.5);  // between columns 34 and 33, the 6th and 7th from the end
  CHECK(file_index(axes[0], 11) == 12);
  CHECK(axes[1].step == 0.5);
  CHECK(axes[1].start == -0.25);
  CHECK(file_index(axes[1], 0) == 0);
  CHECK(file_index(axes[1], 59) == 29);
  CHECK(axes[2].axis == 0);
  for (const std::int64_t k : {0, 7, 19}) CHECK(file_index(axes[2], k) == k);
  // Every voxel of the part is found again.
  visualise::CaseVolume v;
  v.file = axes;
  v.size = {12, 60, 20};
  for (std::int64_t column = 11; column < 35; ++column) {
    const auto voxel = visualise::voxel_of_file(v, {3, 4, column});
    REQUIRE(voxel);
    CHECK(std::abs(visualise::file_voxel_of(v, *voxel)[2] - column) <= 1);
  }
  CHECK_FALSE(visualise::voxel_of_file(v, {3, 4, 35}));
  CHECK_FALSE(visualise::voxel_of_file(v, {3, 4, 10}));
}

TEST_CASE("volume case: letters and tilt are those of the turned volume", "[experiment]") {
  data::VolumePlace place;
  place.file = {20, 30, 40};
  const data::Affine lps = {{{-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, 2, 0}}};
  CHECK(body_axes(lps, place).codes == "SPL");
  CHECK(body_axes(lps, place).tilt == 0);
  place.turn = data::turn_to_ras(lps, "");
  CHECK(body_axes(lps, place).codes == "SAR");
  place.turn = {};
  const data::Affine tilted = {{{0, 0, 2, 0}, {0.8, -0.6, 0, 0}, {-0.6, -0.8, 0, 0}}};
  CHECK(body_axes(tilted, place).codes == "RIA");
  CHECK(body_axes(tilted, place).tilt == Approx(36.8699));
  CHECK(body_axes(std::nullopt, place).codes.empty());
  CHECK(body_axes(data::Affine{}, place).codes.empty());  // all zeros
}
