#include "visualise/volume_figure.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/visualise/case_samples.h"
#include "visualise/label_overlay.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

bool has_colour(const Canvas& canvas, Colour colour) {
  for (std::int64_t y = 0; y < canvas.height; ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x) {
      if (canvas.at(x, y) == colour) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("volume figure: a slice has the voxels of its plane", "[visualise]") {
  const CaseVolume v = test::drawn_case();
  const std::vector<float> axial = slice_of<float>(v.values, v.size, Plane::kAxial, 4);
  REQUIRE(axial.size() == 80);
  CHECK(axial[0] == 400);
  CHECK(axial[2 * 10 + 7] == 427);
  // The last slice of the depth is at the top.
  const std::vector<float> coronal = slice_of<float>(v.values, v.size, Plane::kCoronal, 5);
  REQUIRE(coronal.size() == 60);
  CHECK(coronal[0] == 550);
  CHECK(coronal[5 * 10 + 9] == 59);
  const std::vector<float> sagittal = slice_of<float>(v.values, v.size, Plane::kSagittal, 7);
  REQUIRE(sagittal.size() == 48);
  CHECK(sagittal[3] == 537);
  CHECK(sagittal[5 * 8 + 3] == 37);
}

TEST_CASE("volume figure: greys run over the window", "[visualise]") {
  CHECK(grey_of(-5, {0, 500}) == 0);
  CHECK(grey_of(0, {0, 500}) == 0);
  CHECK(grey_of(250, {0, 500}) == 128);
  CHECK(grey_of(500, {0, 500}) == 255);
  CHECK(grey_of(1e9f, {0, 500}) == 255);
  CHECK(grey_of(3, {3, 3}) == 0);  // nothing to tell apart
}

TEST_CASE("volume figure: pixels are as far apart as millimetres", "[visualise]") {
  const CaseVolume v = test::drawn_case();  // 18 x 16 x 10 mm
  using Pixels = std::array<std::int64_t, 2>;
  CHECK(slice_pixels(v, Plane::kAxial, 4) == Pixels{40, 64});
  CHECK(slice_pixels(v, Plane::kCoronal, 4) == Pixels{40, 72});
  CHECK(slice_pixels(v, Plane::kSagittal, 4) == Pixels{64, 72});
  CHECK(slice_pixels(v, Plane::kSagittal, 0)[1] == 256);  // the longest side
  CHECK(slice_label(v, Plane::kAxial, 2) == "axial 2, 6.0 mm");
  CHECK(slice_label(v, Plane::kCoronal, 3) == "coronal 3, 10.0 mm");  // 4 mm into the file
}

TEST_CASE("volume figure: slices are chosen where there is a class", "[visualise]") {
  CaseVolume v = test::drawn_case();
  using List = std::vector<std::int64_t>;
  CHECK(chosen_slices(v, Plane::kAxial, 3) == List{2, 3});
  CHECK(chosen_slices(v, Plane::kCoronal, 2) == List{4, 6});
  CHECK(chosen_slices(v, Plane::kSagittal, 1) == List{5});  // of 3 to 7
  std::fill(v.truth.begin(), v.truth.end(), std::uint8_t{0});
  v.predicted = v.truth;
  CHECK(chosen_slices(v, Plane::kAxial, 3) == List{1, 3, 5});
}

TEST_CASE("volume figure: errors have a kind", "[visualise]") {
  CHECK(error_of(0, 0) == VoxelError::kNone);
  CHECK(error_of(2, 2) == VoxelError::kNone);
  CHECK(error_of(0, 1) == VoxelError::kFalsePositive);
  CHECK(error_of(1, 0) == VoxelError::kFalseNegative);
  CHECK(error_of(1, 2) == VoxelError::kWrongClass);
}

TEST_CASE("volume figure: what is drawn", "[visualise]") {
  CaseVolume v = test::drawn_case();
  const Canvas all = slices_figure("a case", v, {.factor = 6});
  for (const VoxelError error :
       {VoxelError::kFalsePositive, VoxelError::kFalseNegative, VoxelError::kWrongClass})
    CHECK(has_colour(all, colour_of(error)));  // of the legend
  CHECK(has_colour(all, class_colour(1)));
  // Contours of the truth are on the picture itself.
  v.classes[1] = "";
  std::fill(v.truth.begin(), v.truth.end(), std::uint8_t{0});
  const Canvas without = slices_figure("a case", v, {.factor = 6});
  CHECK(without.rgb != all.rgb);
  // A row for the image and one for each map.
  v = test::drawn_case();
  v.maps.push_back(v.maps[0]);
  const Canvas two = maps_figure("maps", v, {.slices = 1, .factor = 6});
  v.maps.pop_back();
  const Canvas one = maps_figure("maps", v, {.slices = 1, .factor = 6});
  CHECK(two.width == one.width);
  CHECK(two.height - one.height > 6 * 18);
  // Through a voxel: a slice of each plane, and a cross.
  const Canvas through = maps_figure("maps", v, {.through = Sides3{2, 4, 5}, .factor = 6});
  CHECK(through.width == one.width);
  CHECK(has_colour(through, {0, 255, 0}));
  CHECK_FALSE(has_colour(one, {0, 255, 0}));
}

TEST_CASE("volume figure: what is even but for rounding has no colours", "[visualise]") {
  CHECK(map_limit(std::vector<double>{1e-7, -2e-7}) == 0.01);
  CHECK(map_limit(std::vector<double>{0.2, -0.3}) == 0.3);
}

TEST_CASE("volume figure: refuses what does not fit", "[visualise]") {
  const CaseVolume good = test::drawn_case(false);
  CHECK_THROWS_AS(maps_figure("", good, {}), ShapeError);
  CaseVolume bad = good;
  bad.truth.pop_back();
  CHECK_THROWS_WITH(slices_figure("", bad, {}), Catch::Contains("479"));
  bad = good;
  bad.predicted[7] = 3;
  CHECK_THROWS_WITH(slices_figure("", bad, {}), Catch::Contains("label 3"));
  bad = good;
  bad.spacing[1] = 0;
  CHECK_THROWS_AS(slices_figure("", bad, {}), ConfigError);
  bad = test::drawn_case();
  bad.maps[0].values.pop_back();
  CHECK_THROWS_AS(maps_figure("", bad, {}), ShapeError);
}
