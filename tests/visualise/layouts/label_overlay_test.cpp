#include "visualise/layouts/label_overlay.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.h"
#include "tests/visualise/pixels.h"
#include "visualise/drawing/colour_map.h"

using namespace fovea;
using namespace fovea::visualise;
using test::pixels_of;

namespace {

// Left half of class 1, right half of class 2; the top row is predicted as the background.
Labelled sample() {
  Labelled s{"a", std::vector<float>(3 * 6 * 4, 1.0f), {}, {}, 3, 6, 4};
  for (int i = 0; i < 24; ++i) {
    s.truth.push_back(i % 4 < 2 ? 1 : 2);
    s.predicted.push_back(i < 4 ? 0 : s.truth.back());
  }
  return s;
}

}  // namespace

TEST_CASE("label grid: a colour for each class, and where the prediction differs", "[visualise]") {
  constexpr std::int64_t kFactor = 8;
  const std::vector<std::string> classes = {"background", "liver", "spleen"};
  const Canvas grid = label_grid("title", classes, {sample()}, kFactor);
  CHECK(grid.width >= 4 * 4 * kFactor);
  // A tint of each class over the white image: 12 pixels in the truth, 10 in the prediction.
  Canvas tint(1, 1);
  tint.blend(0, 0, class_colour(1), 0.65);
  CHECK(pixels_of(grid, tint.at(0, 0)) == (12 + 10) * kFactor * kFactor);
  CHECK(pixels_of(grid, kInk) > 4 * kFactor * kFactor);  // the missed row, and text
  Labelled ignored = sample();
  std::fill(ignored.truth.begin(), ignored.truth.begin() + 4, -100);
  const Canvas with = label_grid("title", classes, {ignored}, kFactor);
  CHECK(pixels_of(with, kMissing) >= pixels_of(grid, kMissing) + 3 * 4 * kFactor * kFactor);
  const Canvas two = label_grid("title", classes, {sample(), sample()}, kFactor);
  CHECK(two.height >= grid.height + 6 * kFactor);
}

TEST_CASE("label grid: many classes keep apart, and their names find room", "[visualise]") {
  std::set<std::tuple<int, int, int>> colours;
  std::vector<std::string> classes = {"background"};
  for (std::int64_t k = 1; k <= 36; ++k) {
    const Colour c = class_colour(k);
    colours.insert({c.r, c.g, c.b});
    classes.push_back("a class with a long name");
  }
  CHECK(colours.size() == 36);
  CHECK(class_colour(1) == palette_colour(0));
  const Canvas few = label_grid("", {"background", "a", "b"}, {sample()}, 8);
  const Canvas many = label_grid("", classes, {sample()}, 8);
  CHECK(many.height > few.height + 100);
  Labelled wrong = sample();
  wrong.predicted.pop_back();
  CHECK_THROWS_AS(label_grid("", classes, {wrong}), ShapeError);
  CHECK_THROWS_AS(label_grid("", classes, {}), ShapeError);
}

TEST_CASE("label grid: where no class is the background, the first has a colour too",
          "[visualise]") {
  constexpr std::int64_t kFactor = 8;
  const std::vector<std::string> classes = {"wall", "building", "sky"};
  const Canvas with = label_grid("", classes, {sample()}, kFactor);
  const Canvas without = label_grid("", classes, {sample()}, kFactor, false);
  // The top row is predicted as class 0: nothing, then the first colour; class 1 has the second.
  const auto tints = [&](const Canvas& grid, std::int64_t k) {
    Canvas tint(1, 1);
    tint.blend(0, 0, class_colour(k), 0.65);
    return pixels_of(grid, tint.at(0, 0)) / (kFactor * kFactor);
  };
  CHECK(tints(with, 1) == 12 + 10);
  CHECK(tints(without, 1) == 4);
  CHECK(tints(without, 2) == 12 + 10);
  CHECK(tints(without, 3) == 12 + 10);
  // Where it differs, that row has the colour of its class, not of text.
  CHECK(pixels_of(without, class_colour(1)) >= 4 * kFactor * kFactor);
  CHECK(pixels_of(with, kInk) - pixels_of(without, kInk) >= 4 * kFactor * kFactor);
}

TEST_CASE("class colours: the first of a data set is the background, or one like the others",
          "[visualise]") {
  const ClassColours behind = class_colours(3);
  CHECK(behind.first == 1);
  CHECK(behind[0] == kInk);
  CHECK(behind[1] == class_colour(1));
  CHECK(behind[2] == class_colour(2));
  const ClassColours all = class_colours(3, false);
  CHECK(all.first == 0);
  CHECK(all[0] == class_colour(1));
  CHECK(all[2] == class_colour(3));
  CHECK_THROWS_AS(all[3], ShapeError);
  CHECK_THROWS_AS(behind[-1], ShapeError);
  const Canvas image(2, 1, Colour{10, 11, 255});
  const Canvas mixed = tint_classes(image, std::vector<std::int64_t>{0, -100}, all, 0.5);
  CHECK(mixed.at(0, 0) != image.at(0, 0));
  CHECK(mixed.at(1, 0) == image.at(1, 0));
}

TEST_CASE("class overlay: halves are rounded up, classes need a colour", "[visualise]") {
  Canvas image(2, 1, Colour{10, 11, 255});
  const std::vector<std::int64_t> labels = {0, 1};
  const ClassColours colours{{Colour{}, Colour{5, 5, 0}}};
  const Canvas mixed = tint_classes(image, labels, colours, 0.5);
  CHECK(mixed.at(0, 0) == Colour{10, 11, 255});
  CHECK(mixed.at(1, 0) == Colour{8, 8, 128});
  CHECK_THROWS_AS(tint_classes(image, std::vector<std::int64_t>{0, 2}, colours, 0.5), ShapeError);
  CHECK_THROWS_AS(tint_classes(image, std::vector<std::int64_t>{0}, colours, 0.5), ShapeError);
}
