// Transforms of images with masks: what moves, moves both; masks keep their values.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/data/config.h"

using namespace fovea;
using namespace fovea::data;
using fovea::data::test::picture;

namespace {

std::vector<float> squares(std::int64_t h, std::int64_t w) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < h * w; ++i)
    x.push_back((i / w / 4 + i % w / 4) % 2 == 0 ? 0.25f : 0.75f);
  return x;
}

}  // namespace

TEST_CASE("rotate: mirrored edges bring in no black, masks keep their values", "[data]") {
  const auto reflect = picture(R"({"type": "rotate", "prob": 1})");
  const auto black = picture(R"({"type": "rotate", "prob": 1, "reflect": false})");
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<float> image = squares(16, 12), mask = image, dark = image;
    reflect->apply({1, 16, 12, image.data()}, {RandomStream(seed), {}});
    reflect->apply({1, 16, 12, mask.data()}, {RandomStream(seed), {}, {}, true});
    black->apply({1, 16, 12, dark.data()}, {RandomStream(seed), {}});
    for (std::size_t i = 0; i < image.size(); ++i) {
      CHECK(image[i] >= 0.25f);
      CHECK((mask[i] == 0.25f || mask[i] == 0.75f));
    }
    CHECK(dark[0] < 0.25f);
  }
  const auto none = picture(R"({"type": "rotate", "prob": 1, "limit": 0})");
  std::vector<float> image = squares(5, 7);
  none->apply({1, 5, 7, image.data()}, {RandomStream(1), {}});
  CHECK(image == squares(5, 7));
}

TEST_CASE("random_brightness_contrast: one line for all pixels, cut to [0, 1]", "[data]") {
  const auto transform = picture(R"({"type": "random_brightness_contrast", "prob": 1})");
  CHECK_FALSE(transform->moves_pixels());
  std::vector<float> x = {0.3f, 0.5f, 0.7f, 0.0f, 1.0f};
  transform->apply({1, 1, 5, x.data()}, {RandomStream(4), {}});
  CHECK(x[1] - x[0] == Approx(x[2] - x[1]));
  CHECK((x[2] - x[0]) / 0.4f == Approx(1).margin(0.2));
  CHECK(x[1] == Approx(0.5).margin(0.31));
  CHECK(*std::min_element(x.begin(), x.end()) >= 0.0f);
  CHECK(*std::max_element(x.begin(), x.end()) <= 1.0f);
}

TEST_CASE("gaussian_blur: a plane stays, a point spreads over the kernel alone", "[data]") {
  const auto transform = picture(R"({"type": "gaussian_blur", "prob": 1, "blur_limit": [3, 3]})");
  std::vector<float> flat(30, 0.4f);
  transform->apply({1, 5, 6, flat.data()}, {RandomStream(1), {}});
  for (const float value : flat) CHECK(value == Approx(0.4f));
  std::vector<float> point(49, 0.0f);
  point[24] = 1;
  transform->apply({1, 7, 7, point.data()}, {RandomStream(1), {}});
  CHECK(std::accumulate(point.begin(), point.end(), 0.0f) == Approx(1));
  CHECK(std::count(point.begin(), point.end(), 0.0f) == 40);
  // sigma 0.8 of OpenCV's rule for 3 pixels.
  CHECK(point[25] / point[24] == Approx(std::exp(-0.5 / 0.64)));
  CHECK_THROWS_WITH(picture(R"({"type": "gaussian_blur", "blur_limit": [4, 6]})"),
                    Catch::Contains("two odd numbers"));
}

TEST_CASE("elastic_transform: far below a pixel at its defaults, more where asked", "[data]") {
  const auto slight = picture(R"({"type": "elastic_transform", "prob": 1})");
  std::vector<float> mask = squares(16, 16), image = mask;
  slight->apply({1, 16, 16, mask.data()}, {RandomStream(1), {}, {}, true});
  CHECK(mask == squares(16, 16));
  const auto strong =
      picture(R"({"type": "elastic_transform", "prob": 1, "alpha": 40, "sigma": 3})");
  strong->apply({1, 16, 16, image.data()}, {RandomStream(1), {}});
  strong->apply({1, 16, 16, mask.data()}, {RandomStream(1), {}, {}, true});
  CHECK(image != squares(16, 16));
  CHECK(mask != squares(16, 16));
  for (const float value : mask) CHECK((value == 0.25f || value == 0.75f));
}

TEST_CASE("rot_flip_or_rotate: quarters say whether the sides changed places", "[data]") {
  const auto transform = picture(R"({"type": "rot_flip_or_rotate"})");
  CHECK(transform->turns());
  int swapped = 0, zeros = 0, same = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const TransformContext context{RandomStream(seed), {}};
    std::vector<float> x(6 * 4);
    std::iota(x.begin(), x.end(), 1.0f);
    const std::vector<float> before = x;
    transform->apply({1, 6, 4, x.data()}, context);
    swapped += transform->swaps_sides(context) ? 1 : 0;
    zeros += std::count(x.begin(), x.end(), 0.0f) > 0 ? 1 : 0;
    same += x == before ? 1 : 0;
    // Where sides changed places, a row of the old picture is a column of the new one.
    if (transform->swaps_sides(context)) CHECK(std::abs(x[6] - x[0]) == 1.0f);
  }
  CHECK(swapped == Approx(50).margin(20));
  CHECK(zeros == Approx(45).margin(25));
  CHECK(same == Approx(50).margin(25));
}
