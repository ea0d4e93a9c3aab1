// Resizing against Pillow 13 and PyTorch, and the centre that evaluation cuts out.
#include "data/augment/resize.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

using Bytes = std::vector<std::uint8_t>;

Image wide_copy(const Image& image) {
  Image copy{image.height, image.width, image.channels, {}};
  for (const std::uint8_t value : image.pixels) {
    copy.deep.push_back(static_cast<std::uint16_t>(257 * value));
  }
  return copy;
}

}  // namespace

TEST_CASE("resize: constants stay, sizes hold, halving averages", "[data]") {
  const Image flat{4, 6, 3, Bytes(72, 77)};
  for (const Resampling how : {Resampling::kBilinear, Resampling::kBicubic, Resampling::kNearest}) {
    for (const bool antialias : {true, false}) {
      for (const auto& [h, w] : {std::pair{1, 1}, {4, 6}, {9, 2}, {3, 13}}) {
        const Image out = resize(flat, h, w, {how, antialias});
        CHECK(out.height == h);
        CHECK(out.width == w);
        CHECK(out.pixels == Bytes(static_cast<std::size_t>(h * w * 3), 77));
      }
    }
  }
  // Half-pixel centres: sources -0.25, 0.25, 0.75, 1.25, the outer ones clamped.
  CHECK(resize({1, 2, 1, {0, 100}}, 1, 4).pixels == Bytes{0, 25, 75, 100});
  // Triangle of half-width 2 around 1.0 and 3.0: weights 0.75 0.75 0.25 over their sum.
  CHECK(resize({1, 4, 1, {0, 70, 140, 210}}, 1, 2).pixels == Bytes{50, 160});
  CHECK_THROWS_AS(resize(flat, 0, 3), ShapeError);
}

TEST_CASE("resize: the bits of Pillow", "[data]") {
  const Image image = pattern(5, 7, 1);
  const auto at = [&](Resampling how, std::int64_t h, std::int64_t w) {
    return resize(image, h, w, {how, true}).pixels;
  };
  CHECK(at(Resampling::kBilinear, 3, 4) ==
        Bytes{21, 79, 147, 206, 28, 86, 154, 212, 34, 93, 161, 219});
  CHECK(at(Resampling::kBicubic, 3, 4) ==
        Bytes{16, 78, 147, 209, 23, 86, 154, 217, 31, 93, 162, 224});
  CHECK(at(Resampling::kNearest, 3, 4) ==
        Bytes{0, 74, 148, 223, 8, 83, 157, 232, 17, 92, 166, 240});
  CHECK(at(Resampling::kBicubic, 6, 9) ==
        Bytes{0,  22, 53, 82, 111, 140, 169, 201, 225, 1,  25, 56, 85,  115, 144, 173, 204, 228,
              4,  29, 61, 89, 118, 147, 176, 207, 232, 8,  33, 64, 93,  122, 151, 179, 211, 236,
              12, 36, 67, 96, 125, 155, 184, 215, 239, 15, 39, 71, 100, 129, 158, 187, 218, 242});
}

TEST_CASE("resize: without antialiasing only the neighbours are read", "[data]") {
  // Centres 3.5, 11.5 and so on between pixels 3 and 4, 11 and 12: all else is passed over.
  Image image{1, 16, 1, Bytes(16, 0)};
  image.pixels[3] = image.pixels[4] = image.pixels[11] = image.pixels[12] = 200;
  CHECK(resize(image, 1, 2, {Resampling::kBilinear, false}).pixels == Bytes{200, 200});
  CHECK(resize(image, 1, 2).pixels != Bytes{200, 200});
  // The cubic of PyTorch, a = -0.75: -3/32, 19/32, 19/32, -3/32.
  CHECK(resize(image, 1, 2, {Resampling::kBicubic, false}).pixels == Bytes{238, 238});
}

TEST_CASE("resize: 16 bits follow 8 bits and keep what lies between", "[data]") {
  const Image image = pattern(9, 8, 3);
  for (const Resampling how : {Resampling::kBilinear, Resampling::kBicubic}) {
    const Image small = resize(image, 4, 5, {how, true});
    const Image deep = resize(wide_copy(image), 4, 5, {how, true});
    REQUIRE(deep.deep.size() == small.pixels.size());
    for (std::size_t i = 0; i < deep.deep.size(); ++i) {
      // Pillow rounds after each of the two axes.
      CHECK(std::abs(deep.deep[i] / 257.0 - small.pixels[i]) < 1.7);
    }
  }
  CHECK(resize({1, 2, 1, {}, {100, 101}}, 1, 4).deep ==
        std::vector<std::uint16_t>{100, 100, 101, 101});
}

TEST_CASE("fit: the shorter side is resized, then the centre is cut out", "[data]") {
  // Pillow and torchvision: Resize(4, BICUBIC), CenterCrop(3) of 5 x 8; Resize(3), 3 of 9 x 4.
  CHECK(fit(pattern(5, 8, 3, 1), 3, 3, {0.75, {Resampling::kBicubic, true}}).pixels ==
        Bytes{146, 130, 111, 143, 186, 60,  112, 149, 160, 155, 169, 96,  127, 167,
              69,  107, 145, 98,  151, 165, 86,  122, 163, 118, 104, 140, 191});
  CHECK(fit(pattern(9, 4, 1, 2), 3, 3, {0.875, {}}).pixels ==
        Bytes{171, 145, 118, 161, 106, 130, 125, 150, 95});
  CHECK(fit(pattern(5, 5, 1), 5, 5).pixels == pattern(5, 5, 1).pixels);
  // A picture of one row and a million columns is no reason to make a larger one.
  const Image line{1, 1000000, 1, Bytes(1000000, 9)};
  CHECK(fit(line, 64, 64).pixels == Bytes(64 * 64, 9));
  CHECK(fit({8, 2, 1, Bytes(16, 5)}, 4, 6).pixels == Bytes(24, 5));
}

TEST_CASE("fit: the sizes of torchvision's presets can be said", "[data]") {
  // What is kept of a resized picture of R is its centre S: pixel (R - S) / 2 of a ramp.
  for (const auto& [size, resized] :
       {std::pair{224, 256}, {224, 232}, {299, 342}, {240, 255}, {300, 320}, {224, 246}}) {
    Image ramp{resized, resized, 1, {}, {}};
    for (int i = 0; i < resized * resized; ++i) {
      ramp.deep.push_back(static_cast<std::uint16_t>(i % resized));
    }
    const FitOptions options{static_cast<double>(size) / resized, {}};
    const Image kept = fit(ramp, size, size, options);
    CHECK(kept.deep.front() == std::nearbyint((resized - size) / 2.0));
  }
}

TEST_CASE("fit: says which part of the picture it keeps", "[data]") {
  const auto part = [](std::int64_t h, std::int64_t w, std::int64_t size, double crop_pct) {
    const Box box = fitted_part(h, w, size, size, {.crop_pct = crop_pct, .resize = {}});
    return std::vector<std::int64_t>{box.top, box.left, box.height, box.width};
  };
  CHECK(part(40, 40, 20, 1) == std::vector<std::int64_t>{0, 0, 40, 40});
  CHECK(part(40, 80, 20, 1) == std::vector<std::int64_t>{0, 20, 40, 40});
  CHECK(part(80, 40, 20, 1) == std::vector<std::int64_t>{20, 0, 40, 40});
  CHECK(part(256, 256, 224, 0.875) == std::vector<std::int64_t>{16, 16, 224, 224});
}
