#include "visualise/drawing/canvas.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

constexpr Colour kBlack{0, 0, 0};

// How much ink lies in [x0, x1) x [y0, y1): 1 for a black pixel.
double ink(const Canvas& canvas, std::int64_t x0, std::int64_t y0, std::int64_t x1,
           std::int64_t y1) {
  double sum = 0;
  for (std::int64_t y = y0; y < y1; ++y) {
    for (std::int64_t x = x0; x < x1; ++x) sum += 1 - canvas.at(x, y).g / 255.0;
  }
  return sum;
}

double ink(const Canvas& canvas) { return ink(canvas, 0, 0, canvas.width, canvas.height); }

}  // namespace

TEST_CASE("canvas: rectangles, frames and pictures are cut at the border", "[visualise]") {
  Canvas canvas(10, 8);
  canvas.fill_rectangle(-5, -5, 7, 6, kBlack);  // 2 x 1 pixels are inside
  CHECK(ink(canvas) == 2);
  canvas.fill(kWhite);
  canvas.frame(1, 1, 5, 4, kBlack);
  CHECK(ink(canvas) == 2 * 5 + 2 * 2);
  CHECK(canvas.at(2, 2) == kWhite);
  canvas.fill(kWhite);
  canvas.blit(Canvas(4, 4, kBlack), 8, -2);
  CHECK(ink(canvas) == 4);
  CHECK(ink(canvas, 8, 0, 10, 2) == 4);
  canvas.fill(kWhite);
  canvas.fill_rectangle(0, 0, 1, 1, kBlack, 0.5);
  CHECK(canvas.at(0, 0) == Colour{128, 128, 128});
  CHECK_THROWS_AS(Canvas(-1, 3), ShapeError);
  CHECK_THROWS_AS(Canvas(std::int64_t{1} << 40, std::int64_t{1} << 40), ShapeError);
}

TEST_CASE("canvas: a line of width one on pixel centres is crisp", "[visualise]") {
  Canvas canvas(20, 9);
  draw_polyline(canvas, std::vector<Point>{{2.5, 4.5}, {16.5, 4.5}}, 1, kBlack);
  CHECK(ink(canvas, 3, 4, 16, 5) == 13);
  CHECK(ink(canvas, 3, 0, 16, 4) == 0);
  CHECK(ink(canvas, 3, 5, 16, 9) == 0);
}

TEST_CASE("canvas: a slanted line has the area of its width times its length", "[visualise]") {
  Canvas canvas(60, 60);
  const double width = GENERATE(1.0, 2.0, 4.0);
  draw_polyline(canvas, std::vector<Point>{{10, 12}, {50, 41}}, width, kBlack);
  const double length = std::hypot(40, 29);
  CHECK(ink(canvas) == Approx(length * width + 0.785 * width * width).epsilon(0.06));
}

TEST_CASE("canvas: translucent joints are blended once", "[visualise]") {
  Canvas canvas(20, 20);
  draw_polyline(canvas, std::vector<Point>{{2, 10.5}, {10, 10.5}, {18, 10.5}}, 3, kBlack, 0.5);
  CHECK(canvas.at(10, 10) == canvas.at(5, 10));
  draw_polyline(canvas, std::vector<Point>{{-1e30, 3}, {1e30, 3}}, 1, kBlack);  // stays in bounds
}

TEST_CASE("canvas: polygons cover their area, even-odd", "[visualise]") {
  Canvas canvas(40, 40);
  fill_polygon(canvas, std::vector<Point>{{5.25, 5}, {30.5, 9}, {14, 33.5}}, kBlack);
  const double area = 0.5 * std::abs((30.5 - 5.25) * (33.5 - 5) - (14 - 5.25) * (9.0 - 5));
  CHECK(ink(canvas) == Approx(area).epsilon(0.01));
  canvas.fill(kWhite);
  fill_polygon(canvas, std::vector<Point>{{2.5, 2}, {6.5, 2}, {6.5, 4}, {2.5, 4}}, kBlack);
  CHECK(canvas.at(2, 2).g == 128);  // half covered
  CHECK(canvas.at(3, 3) == kBlack);
  CHECK(canvas.at(7, 2) == kWhite);
}

TEST_CASE("text: ink lies inside the measured box, also upwards", "[visualise]") {
  const std::string text = "λ = 0.8 ± Ag";
  const double size = 20, width = text_width(text, size);
  CHECK(text_width(text, 2 * size) == Approx(2 * width));
  CHECK(text_width("", size) == 0);
  Canvas flat(240, 60);
  draw_text(flat, {20, 40}, text, size, kBlack);
  const double total = ink(flat);
  CHECK(total > 100);
  CHECK(ink(flat, 19, 40 - 16, 20 + static_cast<std::int64_t>(width) + 2, 46) == Approx(total));
  CHECK(ink(flat, 20, 25, 40, 41) > 10);  // the first letter stands on the baseline
  Canvas upright(60, 240);
  draw_text(upright, {40, 220}, text, size, kBlack, true);
  CHECK(ink(upright) == Approx(total).epsilon(1e-9));
  for (std::int64_t y = 0; y < flat.height; ++y) {
    for (std::int64_t x = 0; x < flat.width; ++x) {
      REQUIRE(flat.at(x, y) == upright.at(y, 239 - x));
    }
  }
}

TEST_CASE("text: malformed UTF-8 is drawn as replacement characters", "[visualise]") {
  const std::string bad = "\xff\xc3(\xe2\x82";
  const double replacement = text_width("\xEF\xBF\xBD", 12);
  CHECK(text_width(bad, 12) == Approx(4 * replacement + text_width("(", 12)).margin(2));
  Canvas canvas(80, 20);
  draw_text(canvas, {2, 15}, bad, 12, kBlack);
  CHECK(ink(canvas) > 0);
}

TEST_CASE("png: signature, size in the header, written in one piece", "[visualise]") {
  const std::string png = to_png(Canvas(300, 7, {1, 2, 3}));
  CHECK(png.substr(0, 8) == "\x89PNG\r\n\x1a\n");
  CHECK(png.substr(16, 8) == std::string("\0\0\1\x2c\0\0\0\7", 8));
  const auto path = io::fs::temp_directory_path() / "fovea_canvas_test.png";
  write_png(path, Canvas(300, 7, {1, 2, 3}));
  CHECK(io::read_text(path) == png);
  io::remove_all(path);
  CHECK_THROWS_AS(to_png(Canvas()), ShapeError);
}

TEST_CASE("canvas_from_bytes: grey and colour images", "[visualise]") {
  CHECK(canvas_from_bytes(std::vector<std::uint8_t>{9, 8}, 1, 2, 1).at(1, 0) == Colour{8, 8, 8});
  CHECK(canvas_from_bytes(std::vector<std::uint8_t>{9, 8, 7}, 1, 1, 3).at(0, 0) == Colour{9, 8, 7});
  CHECK_THROWS_AS(canvas_from_bytes(std::vector<std::uint8_t>{9}, 1, 2, 1), ShapeError);
}
