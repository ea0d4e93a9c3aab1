#include "visualise/drawing/montage.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

constexpr Colour kRed{200, 0, 0};
constexpr Colour kGreen{0, 200, 0};

Montage two_by_two() {
  Montage m;
  m.factor = 10;
  m.rows = {{Canvas(4, 4, kRed), Canvas(4, 4, kGreen)}, {Canvas(4, 4, kGreen), Canvas(4, 4, kRed)}};
  return m;
}

// The smallest box around all pixels of a colour, and how many there are.
struct Found {
  std::int64_t left = 1 << 30, top = 1 << 30, right = -1, bottom = -1, count = 0;
};

Found find(const Canvas& canvas, Colour colour) {
  Found f;
  for (std::int64_t y = 0; y < canvas.height; ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x) {
      if (canvas.at(x, y) != colour) continue;
      f.left = std::min(f.left, x);
      f.right = std::max(f.right, x);
      f.top = std::min(f.top, y);
      f.bottom = std::max(f.bottom, y);
      ++f.count;
    }
  }
  return f;
}

}  // namespace

TEST_CASE("montage: every picture is shown whole and enlarged", "[visualise]") {
  const Canvas canvas = render(two_by_two());
  CHECK(find(canvas, kRed).count == 2 * 40 * 40);
  CHECK(find(canvas, kGreen).count == 2 * 40 * 40);
  CHECK(canvas.at(find(canvas, kRed).left, find(canvas, kRed).top) == kRed);  // row 0, column 0
}

TEST_CASE("montage: labels and bars make room and never cover pictures", "[visualise]") {
  Montage m = two_by_two();
  const Canvas plain = render(m);
  m.title = "a title";
  m.row_labels = {"a row with a rather long label that is broken", "b"};
  m.column_labels = {"input", "DGViT with many words to break"};
  m.bars = {{{ColourMap::kPlasma, 0, 1, "share"}, MontageBar::Side::kBelow, 0, 1},
            {{ColourMap::kViridis, -1, 1, "other"}, MontageBar::Side::kBelow, 1, 1},
            {{ColourMap::kCividis, 0, 2, "all rows"}, MontageBar::Side::kRight, 0, 0}};
  const Canvas full = render(m);
  CHECK(full.width > plain.width + 100);
  CHECK(full.height > plain.height + 60);
  CHECK(find(full, kRed).count == 2 * 40 * 40);
  CHECK(find(full, kGreen).count == 2 * 40 * 40);
  CHECK(find(full, colour_of(ColourMap::kPlasma, 0.5 / 256)).top > find(full, kGreen).bottom);
  CHECK(find(full, colour_of(ColourMap::kCividis, 0.5 / 256)).left > find(full, kGreen).right);
}

TEST_CASE("montage: holes and pictures of other sizes", "[visualise]") {
  Montage m;
  m.factor = 1;
  m.rows = {{Canvas(8, 8, kRed)}, {Canvas(), Canvas(2, 2, kGreen)}};
  const Canvas canvas = render(m);
  CHECK(find(canvas, kRed).count == 64);
  CHECK(find(canvas, kGreen).count == 4);
  CHECK(find(canvas, kGreen).left > find(canvas, kRed).right);
}

TEST_CASE("montage: refuses labels and bars that do not fit", "[visualise]") {
  CHECK_THROWS_AS(render(Montage{}), ShapeError);
  Montage m = two_by_two();
  m.column_labels = {"one"};
  CHECK_THROWS_AS(render(m), ShapeError);
  m = two_by_two();
  m.bars = {{{ColourMap::kPlasma, 0, 1, ""}, MontageBar::Side::kBelow, 0, 2},
            {{ColourMap::kPlasma, 0, 1, ""}, MontageBar::Side::kBelow, 1, 1}};
  CHECK_THROWS_WITH(render(m), Catch::Contains("two colour bars"));
  m.bars = {{{ColourMap::kPlasma, 0, 1, ""}, MontageBar::Side::kRight, 2, 1}};
  CHECK_THROWS_AS(render(m), ConfigError);
  m.bars = {{{ColourMap::kPlasma, 1, 1, ""}, MontageBar::Side::kRight, 0, 0}};
  CHECK_THROWS_AS(render(m), ConfigError);
  m = two_by_two();
  m.factor = 0;
  CHECK_THROWS_AS(render(m), ConfigError);
}
