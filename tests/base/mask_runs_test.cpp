// Expected strings, areas and shares are those of pycocotools 2.0.11.
#include "base/mask_runs.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>

#include "base/error.h"

using namespace fovea;

namespace {

using Polygons = std::vector<std::vector<double>>;

std::vector<std::uint8_t> random_pixels(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count));
  // Runs of a few pixels.
  std::uint8_t value = 0;
  for (std::uint8_t& pixel : pixels) {
    if (random() % 4 == 0) value = static_cast<std::uint8_t>(1 - value);
    pixel = value;
  }
  return pixels;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("mask runs: a mask is coded down its columns", "[base]") {
  const std::vector<std::uint8_t> pixels{0, 1, 1, 0,  //
                                         0, 1, 0, 0,  //
                                         1, 1, 0, 255};
  const MaskRuns mask = encode_mask(pixels, 3, 4);
  CHECK(mask.runs == std::vector<std::uint32_t>{2, 5, 4, 1});
  CHECK(mask_string(mask) == "254L");
  CHECK(mask_area(mask) == 6);
  CHECK(mask_box(mask) == MaskBox{0, 0, 4, 3});
  CHECK(mask_from_string("254L", 3, 4) == mask);
  CHECK(mask_from_runs(std::vector<std::int64_t>{2, 5, 4, 1}, 3, 4) == mask);
  CHECK(decode_mask(mask) == std::vector<std::uint8_t>{0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 1});
}

TEST_CASE("mask runs: empty and full masks", "[base]") {
  const MaskRuns empty = encode_mask(std::vector<std::uint8_t>(12, 0), 3, 4);
  const MaskRuns full = encode_mask(std::vector<std::uint8_t>(12, 1), 3, 4);
  CHECK(mask_string(empty) == "<");
  CHECK(mask_string(full) == "0<");
  CHECK(mask_box(empty) == MaskBox{});
  CHECK(mask_box(full) == MaskBox{0, 0, 4, 3});
  CHECK(mask_iou(empty, empty) == 0);
  CHECK(mask_iou(full, empty) == 0);
  CHECK(mask_iou(empty, full, true) == 0);
  CHECK(mask_iou(full, full) == 1);
}

TEST_CASE("mask runs: every form gives the mask back", "[base]") {
  const auto [height, width] =
      GENERATE(table<std::int64_t, std::int64_t>({{1, 1}, {1, 70}, {67, 1}, {13, 150}, {40, 64}}));
  const std::vector<std::uint8_t> pixels =
      random_pixels(height * width, static_cast<unsigned>(height));
  const MaskRuns mask = encode_mask(pixels, height, width);
  CHECK(decode_mask(mask) == pixels);
  CHECK(mask_from_string(mask_string(mask), height, width) == mask);
  const std::vector<std::int64_t> runs(mask.runs.begin(), mask.runs.end());
  CHECK(mask_from_runs(runs, height, width) == mask);
  // The box by hand.
  std::int64_t left = width, right = -1, top = height, bottom = -1, area = 0;
  for (std::int64_t i = 0; i < height * width; ++i) {
    if (pixels[static_cast<std::size_t>(i)] == 0) continue;
    ++area;
    left = std::min(left, i % width), right = std::max(right, i % width);
    top = std::min(top, i / width), bottom = std::max(bottom, i / width);
  }
  CHECK(mask_area(mask) == area);
  if (area > 0) CHECK(mask_box(mask) == MaskBox{left, top, right - left + 1, bottom - top + 1});
}

TEST_CASE("mask runs: union and intersection over union are those of the pixels", "[base]") {
  const std::int64_t height = 19, width = 23;
  std::vector<MaskRuns> masks;
  std::vector<std::uint8_t> all(static_cast<std::size_t>(height * width), 0);
  std::vector<std::vector<std::uint8_t>> pixels;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    pixels.push_back(random_pixels(height * width, seed));
    masks.push_back(encode_mask(pixels.back(), height, width));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] |= pixels.back()[i];
    CHECK(mask_union(masks) == encode_mask(all, height, width));
  }
  double common = 0, covered = 0, own = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    common += pixels[0][i] & pixels[1][i];
    covered += pixels[0][i] | pixels[1][i];
    own += pixels[0][i];
  }
  CHECK(mask_iou(masks[0], masks[1]) == common / covered);
  CHECK(mask_iou(masks[1], masks[0]) == common / covered);
  CHECK(mask_iou(masks[0], masks[1], true) == common / own);
  CHECK_THROWS_AS(mask_union({}), ShapeError);
  CHECK_THROWS_AS(mask_iou(masks[0], encode_mask(std::vector<std::uint8_t>(4), 2, 2)), ShapeError);
}

TEST_CASE("mask runs: polygons are filled as pycocotools fills them", "[base]") {
  struct Expected {
    Polygons polygons;
    std::int64_t height, width;
    const char* text;
    std::int64_t area;
    MaskBox box;
  };
  const Expected cases[] = {
      // A star, whose middle is outside.
      {{{10.3, 2.7, 14.6, 17.2, 2.1, 8.4, 18.9, 7.5, 5.2, 18.0}},
       20,
       22,
       "`11c0001O1DN42I080F1`0NI1LN24:MC080E2:0EO;05O1O10X2",
       56,
       {2, 3, 16, 15}},
      {{{1.5, 1.5, 6.5, 1.5, 6.5, 6.2, 1.5, 6.2}, {5.0, 4.0, 11.4, 5.5, 8.0, 9.9}},
       10,
       12,
       "f04600000012ON00O1O6",
       34,
       {2, 2, 9, 7}},
      {{{-5.5, -3.2, 7.1, 4.4, 30.0, 25.5, 3.3, 12.0}},
       15,
       13,
       "0791O0O2O0O0100O10O01O1O1O",
       111,
       {0, 0, 13, 15}},
      {{{-5.5, -3.2, -7.1, 4.4, -30.0, 25.5}}, 15, 13, "S6", 0, {}},
      // Two corners at one place; corners on a line; corners at one place.
      {{{2, 2, 2, 2, 9, 3, 9, 3, 5, 8}}, 10, 10, "f0192N2N01N1O1O8", 20, {2, 2, 7, 5}},
      {{{1, 1, 8, 8, 1, 1}}, 10, 10, "T3", 0, {}},
      {{{3, 3, 3, 3, 3, 3}}, 10, 10, "T3", 0, {}}};
  for (const Expected& one : cases) {
    const MaskRuns mask = mask_from_polygons(one.polygons, one.height, one.width);
    CHECK(mask_string(mask) == one.text);
    CHECK(mask_area(mask) == one.area);
    CHECK(mask_box(mask) == one.box);
  }
  const MaskRuns x = mask_from_polygons(Polygons{{2, 2, 9, 2, 9, 9, 2, 9}}, 20, 20);
  const MaskRuns y = mask_from_polygons(Polygons{{5, 5, 15, 5, 15, 15, 5, 15}}, 20, 20);
  CHECK(mask_iou(x, y) == Approx(0.12030075).epsilon(1e-7));
  CHECK(mask_iou(x, y, true) == Approx(0.32653061).epsilon(1e-7));
}

TEST_CASE("mask runs: runs without pixels vanish", "[base]") {
  const MaskRuns mask = mask_from_runs(std::vector<std::int64_t>{2, 0, 1, 3, 0, 2, 4, 0}, 3, 4);
  CHECK(mask.runs == std::vector<std::uint32_t>{3, 5, 4});
  CHECK(mask_from_runs(std::vector<std::int64_t>{0, 0, 0, 12}, 3, 4).runs ==
        std::vector<std::uint32_t>{0, 12});
}

TEST_CASE("mask runs: a damaged string is a mask or is refused", "[base]") {
  std::mt19937 random(11);
  int masks = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto height = static_cast<std::int64_t>(1 + random() % 9);
    const auto width = static_cast<std::int64_t>(1 + random() % 9);
    const std::vector<std::uint8_t> pixels =
        random_pixels(height * width, static_cast<unsigned>(i));
    std::string text = mask_string(encode_mask(pixels, height, width));
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
        break;
      case 1:
        text.erase(at, 1);
        break;
      case 2:
        text.insert(at, 1, static_cast<char>(random()));
        break;
      default:
        text = text.substr(at) + text.substr(0, at);
    }
    try {
      const MaskRuns mask = mask_from_string(text, height, width);
      ++masks;
      CHECK(encode_mask(decode_mask(mask), height, width) == mask);
    } catch (const FileError&) {
      ++refused;
    }
  }
  CHECK(masks > 100);
  CHECK(refused > 100);
}

TEST_CASE("mask runs: what is no mask is refused in a line", "[base]") {
  const auto string_error = [](const std::string& text) {
    return message_of([&] { mask_from_string(text, 3, 4, "a.json: annotation 7"); });
  };
  CHECK(string_error("254") ==
        "a.json: annotation 7: the runs of a mask have 11 pixels; expected "
        "3 x 4 = 12");
  CHECK(string_error("") ==
        "a.json: annotation 7: the runs of a mask have 0 pixels; expected 3 x 4 = 12");
  CHECK(string_error("25`") ==
        "a.json: annotation 7: the string of a mask ends within its number "
        "2");
  CHECK(string_error("25!L") ==
        "a.json: annotation 7: character 2 of the string of a mask has "
        "code 33; expected 48 to 111");
  CHECK(string_error("25\xc3") ==
        "a.json: annotation 7: character 2 of the string of a mask has "
        "code 195; expected 48 to 111");
  CHECK(string_error("2O") ==
        "a.json: annotation 7: run 1 in the string of a mask has -1 pixels; "
        "expected 0 to 3 x 4 = 12");
  CHECK(string_error("oooooooo0") ==
        "a.json: annotation 7: number 0 in the string of a mask has "
        "more than 7 characters");
  CHECK(string_error("2546") ==
        "a.json: annotation 7: run 3 of a mask has 11 pixels; expected 0 to "
        "1, what is left of 3 x 4");
  const auto runs_error = [](const std::vector<std::int64_t>& runs, std::int64_t height = 3) {
    return message_of([&] { mask_from_runs(runs, height, 4); });
  };
  CHECK(runs_error({2, -1, 11}) ==
        "mask: run 1 of a mask has -1 pixels; expected 0 to 10, what is left of 3 x 4");
  CHECK(runs_error({0}, 0) == "mask: a mask of 0 x 4 pixels; expected 1 to 4294967295 pixels");
  CHECK(runs_error({0}, std::int64_t{1} << 62) ==
        "mask: a mask of 4611686018427387904 x 4 pixels; expected 1 to 4294967295 pixels");
  const auto polygon_error = [](const Polygons& polygons) {
    return message_of([&] { mask_from_polygons(polygons, 3, 4); });
  };
  CHECK(polygon_error({}) == "mask: a mask of no polygons");
  CHECK(polygon_error({{1, 1, 2, 2}}) ==
        "mask: a polygon of 4 coordinates; expected x and y of at least 3 corners");
  CHECK(polygon_error({{1, 1, 2, 2, 3, 3, 4}}) ==
        "mask: a polygon of 7 coordinates; expected x and y of at least 3 corners");
  CHECK(polygon_error({{1, 1, 2, NAN, 3, 3}}) ==
        "mask: a corner of a polygon at nan; expected pixels of a picture of 3 x 4");
  CHECK(polygon_error({{1, 1, 2, 1e300, 3, 3}}) ==
        "mask: a corner of a polygon at 1e+300; expected pixels of a picture of 3 x 4");
  CHECK_THROWS_AS(encode_mask(std::vector<std::uint8_t>(11), 3, 4), ShapeError);
}
