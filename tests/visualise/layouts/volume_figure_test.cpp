#include "visualise/layouts/volume_figure.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/visualise/case_samples.h"
#include "visualise/layouts/label_overlay.h"

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
  const std::vector<float> axial = slice_of<float>(v.values, v.size, axes_of(v, Plane::kAxial), 4);
  REQUIRE(axial.size() == 80);
  CHECK(axial[0] == 400);
  CHECK(axial[2 * 10 + 7] == 427);
  // The last slice of the depth is at the top.
  const std::vector<float> coronal =
      slice_of<float>(v.values, v.size, axes_of(v, Plane::kCoronal), 5);
  REQUIRE(coronal.size() == 60);
  CHECK(coronal[0] == 550);
  CHECK(coronal[5 * 10 + 9] == 59);
  const std::vector<float> sagittal =
      slice_of<float>(v.values, v.size, axes_of(v, Plane::kSagittal), 7);
  REQUIRE(sagittal.size() == 48);
  CHECK(sagittal[3] == 537);
  CHECK(sagittal[5 * 8 + 3] == 37);
}

TEST_CASE("volume figure: planes are named and turned by how the volume lies in the body",
          "[visualise]") {
  CaseVolume v = test::drawn_case();
  const auto edges = [&](Plane plane) {
    const PlaneAxes axes = axes_of(v, plane);
    return axes.name + " " + axes.top + axes.bottom + axes.left + axes.right;
  };
  for (const char* codes : {"SPL", "SAR", "IPR", "RAS", "AIL"}) {  // all the same to a reader
    v.codes = codes;
    CHECK_NOTHROW(check(v));
    CHECK(edges(Plane::kAxial) == "axial APRL");
    CHECK(edges(Plane::kCoronal) == "coronal SIRL");
    CHECK(edges(Plane::kSagittal) == "sagittal SIAP");
  }
  v.codes = "SPL";
  v.convention = Convention::kNeurological;
  CHECK(edges(Plane::kAxial) == "axial APLR");
  CHECK(edges(Plane::kSagittal) == "sagittal SIAP");
  v.codes = "";
  CHECK(edges(Plane::kAxial) == "across depth ");
  for (const char* codes : {"SPX", "SIL", "SP", "SPLR"}) {
    v.codes = codes;
    CHECK_THROWS_AS(check(v), ShapeError);
  }
}

TEST_CASE("volume figure: one body gives one picture, however its file is stored", "[visualise]") {
  // Where the value of a voxel is its place in the body: to the head, the front and the right.
  const auto stored = [](const std::string& codes) {
    CaseVolume v;
    v.codes = codes;
    v.size = {3, 3, 3};
    const auto place = [&](std::size_t axis, std::int64_t k) {
      constexpr std::string_view kUp = "SAR", kDown = "IPL";
      const std::size_t up = kUp.find(codes[axis]), down = kDown.find(codes[axis]);
      const std::int64_t unit = up == 0 || down == 0 ? 100 : up == 1 || down == 1 ? 10 : 1;
      return unit * (up != std::string_view::npos ? k : 2 - k);
    };
    for (std::int64_t d = 0; d < 3; ++d) {
      for (std::int64_t h = 0; h < 3; ++h) {
        for (std::int64_t w = 0; w < 3; ++w)
          v.values.push_back(static_cast<float>(place(0, d) + place(1, h) + place(2, w)));
      }
    }
    return v;
  };
  const auto middle = [](const CaseVolume& v, Plane plane) {
    return slice_of<float>(v.values, v.size, axes_of(v, plane), 1);
  };
  using Slice = std::vector<float>;
  for (const char* codes : {"SAR", "SPL", "RAS", "LPI", "ARI"}) {
    const CaseVolume v = stored(codes);
    INFO(codes);
    CHECK(middle(v, Plane::kAxial) == Slice{122, 121, 120, 112, 111, 110, 102, 101, 100});
    CHECK(middle(v, Plane::kCoronal) == Slice{212, 211, 210, 112, 111, 110, 12, 11, 10});
    CHECK(middle(v, Plane::kSagittal) == Slice{221, 211, 201, 121, 111, 101, 21, 11, 1});
  }
  CaseVolume mirrored = stored("SPL");
  mirrored.convention = Convention::kNeurological;
  CHECK(middle(mirrored, Plane::kAxial) == Slice{120, 121, 122, 110, 111, 112, 100, 101, 102});
}

TEST_CASE("volume figure: voxels are found in their file, and those of the file in the volume",
          "[visualise]") {
  CaseVolume v = test::drawn_case(false);
  // Columns of the file are the depth, run against it, and were halved; rows begin at the third.
  v.file = {{{2, 12, 10.5, -2}, {1, 10, 2, 1}, {0, 5, -0.25, 0.5}}};
  CHECK(file_size(v) == Sides3{5, 10, 12});
  CHECK(file_voxel_of(v, {0, 3, 0}) == Sides3{0, 5, 11});
  CHECK(file_voxel_of(v, {5, 3, 9}) == Sides3{4, 5, 1});
  CHECK(voxel_of_file(v, {4, 5, 1}) == Sides3{5, 3, 9});  // or 8: both are of that slice
  CHECK(voxel_of_file(v, {0, 2, 11}) == Sides3{0, 0, 1});
  CHECK(voxel_of_file(v, {0, 2, 10}) == Sides3{0, 0, 1});
  CHECK(voxel_of_file(v, {0, 2, 9}) == Sides3{1, 0, 1});
  CHECK_FALSE(voxel_of_file(v, {0, 1, 11}));  // a row that was cut off
  CHECK_FALSE(voxel_of_file(v, {5, 2, 11}));
  CHECK(slice_label(v, Plane::kAxial, 5) == "axial 1, 0.8 mm");  // 0.5 of a column of 1.5 mm
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
  CHECK(slice_pixels(v, Plane::kAxial, {.factor = 4}) == Pixels{40, 64});
  CHECK(slice_pixels(v, Plane::kCoronal, {.factor = 4}) == Pixels{40, 72});
  CHECK(slice_pixels(v, Plane::kSagittal, {.factor = 4}) == Pixels{64, 72});
  CHECK(slice_pixels(v, Plane::kSagittal, {})[1] == 256);  // the longest side
  CHECK(slice_label(v, Plane::kAxial, 2) == "axial 2, 6.0 mm");
  CHECK(slice_label(v, Plane::kCoronal, 3) == "coronal 5, 10.0 mm");  // 4 mm into the file
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
  // Other labels count, too, and files of one's own have no truth.
  std::vector<std::uint8_t> more = v.predicted;
  more[4 * 80] = 1;
  v.truth.clear();
  CHECK(chosen_slices(v, Plane::kAxial, 3, std::span(&more, 1)) == List{4});
}

TEST_CASE("volume figure: without truth there are image, prediction and its contours",
          "[visualise]") {
  CaseVolume v = test::drawn_case(false);
  const Canvas all = slices_figure("a case", v, {.factor = 6});
  v.truth.clear();
  CHECK_THROWS_WITH(check(v), Catch::Contains("3 Dice"));
  v.dice.clear();
  const Canvas own = slices_figure("a case", v, {.factor = 6});
  CHECK(all.height - own.height > 2 * 6 * 16);
  for (const VoxelError error :
       {VoxelError::kFalsePositive, VoxelError::kFalseNegative, VoxelError::kWrongClass})
    CHECK_FALSE(has_colour(own, colour_of(error)));
  CHECK(has_colour(own, class_colour(1)));
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
  CaseVolume v = test::drawn_case();
  for (std::size_t i = 0; i < v.maps[0].values.size(); ++i)
    v.maps[0].values[i] = i % 2 == 0 ? 1e-7f : -1e-7f;
  v.quantity = {true, "rollout less an even share"};
  const Canvas even = maps_figure("maps", v, {.slices = 1, .factor = 6, .overlay = 0});
  for (float& value : v.maps[0].values) value *= 1e6f;
  const Canvas uneven = maps_figure("maps", v, {.slices = 1, .factor = 6, .overlay = 0});
  const Colour middle = colour_of(ColourMap::kDiverging, 0.5);
  CHECK(has_colour(even, middle));
  const auto pixels = [](const Canvas& canvas, Colour colour) {
    std::int64_t found = 0;
    for (std::int64_t y = 0; y < canvas.height; ++y) {
      for (std::int64_t x = 0; x < canvas.width; ++x) found += canvas.at(x, y) == colour ? 1 : 0;
    }
    return found;
  };
  CHECK(pixels(even, middle) > pixels(uneven, middle) + 1000);
}

TEST_CASE("volume figure: rollouts of any number of stages fit a page", "[visualise]") {
  CaseVolume v = test::drawn_case();
  const CaseMap map = v.maps[0];
  for (const std::size_t stages : {1, 5, 9}) {
    v.maps.assign(stages, map);
    for (const std::int64_t slices : {1, 3}) {
      const Canvas page = maps_figure("maps", v, {.slices = slices});
      CHECK(static_cast<double>(page.width) <= kPageWidth);
      CHECK(static_cast<double>(page.height) <= kPageHeight);
    }
  }
  // A factor is kept whatever it gives.
  CHECK(static_cast<double>(maps_figure("maps", v, {.factor = 20}).width) > kPageWidth);
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
