#include "data/transforms.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "base/error.h"

using namespace fovea;
using namespace fovea::data;

namespace {

std::vector<float> counting(std::int64_t c, std::int64_t h, std::int64_t w) {
  std::vector<float> x(static_cast<std::size_t>(c * h * w));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i + 1) / static_cast<float>(x.size());
  }
  return x;
}

}  // namespace

TEST_CASE("transforms: every entry keeps the shape and repeats itself", "[data]") {
  for (const schema::Choice& choice : transform_choices().list()) {
    const auto transform = make_transform({choice.name, {}}, "dataset.augment");
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      INFO(choice.name << " seed " << seed);
      for (const auto& [h, w] : {std::pair{9, 7}, {1, 1}, {3, 2}}) {
        std::vector<float> a = counting(2, h, w);
        a.push_back(-7.0f);  // nothing may be written behind the image
        std::vector<float> b = a;
        const std::vector<double> mean = {0.25, 0.75};
        transform->apply({2, h, w, a.data()}, {RandomStream(seed), mean});
        transform->apply({2, h, w, b.data()}, {RandomStream(seed), mean});
        CHECK(a == b);
        CHECK(a.back() == -7.0f);
        CHECK(std::all_of(a.begin(), a.end() - 1, [](float v) { return v >= 0.0f && v <= 1.0f; }));
      }
    }
  }
}

TEST_CASE("random_crop: shifts by at most the padding and fills with zeros", "[data]") {
  const auto crop = make_random_crop({2});
  const std::vector<float> original = counting(1, 5, 6);
  std::set<std::pair<int, int>> shifts;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<float> x = original;
    crop->apply({1, 5, 6, x.data()}, {RandomStream(seed), {}});
    int found = 0;
    for (int dy = -2; dy <= 2; ++dy) {
      for (int dx = -2; dx <= 2; ++dx) {
        bool same = true;
        for (int i = 0; i < 5; ++i) {
          for (int j = 0; j < 6; ++j) {
            const bool inside = i + dy >= 0 && i + dy < 5 && j + dx >= 0 && j + dx < 6;
            const float expected =
                inside ? original[static_cast<std::size_t>((i + dy) * 6 + j + dx)] : 0.0f;
            same = same && x[static_cast<std::size_t>(i * 6 + j)] == expected;
          }
        }
        if (same) {
          ++found;
          shifts.insert({dy, dx});
        }
      }
    }
    CHECK(found == 1);
  }
  CHECK(shifts.size() == 25);
}

TEST_CASE("horizontal_flip: mirrors every row, with its probability", "[data]") {
  const std::vector<float> original = counting(2, 2, 3);
  std::vector<float> x = original;
  make_horizontal_flip({1.0})->apply({2, 2, 3, x.data()}, {RandomStream(0), {}});
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t j = 0; j < 3; ++j) CHECK(x[row * 3 + j] == original[row * 3 + 2 - j]);
  }
  make_horizontal_flip({0.0})->apply({2, 2, 3, x.data()}, {RandomStream(0), {}});
  CHECK(x != original);
  int flipped = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    std::vector<float> y = {0.0f, 1.0f};
    make_horizontal_flip()->apply({1, 1, 2, y.data()}, {RandomStream(seed), {}});
    flipped += y[0] == 1.0f ? 1 : 0;
  }
  CHECK(flipped == Approx(500).margin(60));
}

TEST_CASE("random_erasing: one rectangle in the given share of the area", "[data]") {
  const auto erase = make_random_erasing({.prob = 1.0, .min_area = 0.1, .max_area = 0.3});
  const std::vector<double> mean = {0.25, 0.75};
  int erased = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<float> x(2 * 20 * 20, 0.0f);
    erase->apply({2, 20, 20, x.data()}, {RandomStream(seed), mean});
    const auto first = std::count(x.begin(), x.begin() + 400, 0.25f);
    CHECK(first == std::count(x.begin() + 400, x.end(), 0.75f));
    if (first == 0) continue;
    ++erased;
    CHECK(first >= 30);  // 10 % of 400, less the rounding of two sides
    CHECK(first <= 140);
  }
  CHECK(erased >= 45);
}

TEST_CASE("normalise: removes mean and deviation of each channel", "[data]") {
  std::vector<float> x = {0.5f, 1.0f, 0.5f, 1.0f};
  normalise({2, 1, 2, x.data()}, std::vector<double>{0.5, 0.0}, std::vector<double>{0.25, 0.5});
  CHECK(x == std::vector<float>{0.0f, 2.0f, 1.0f, 2.0f});
  CHECK_THROWS_AS(
      normalise({2, 1, 2, x.data()}, std::vector<double>{0.5}, std::vector<double>{0.25, 0.5}),
      ShapeError);
}

TEST_CASE("make_transform: unknown names and options out of range are refused", "[data]") {
  CHECK_THROWS_WITH(make_transform({"random_crp", {}}, "dataset.augment.0"),
                    Catch::Contains("did you mean \"random_crop\"?"));
  schema::Value options = schema::Value::object({{"type", "random_crop"}, {"padding", -1}});
  CHECK_THROWS_AS(make_transform({"random_crop", options}, "dataset.augment.0"), ConfigError);
  options = schema::Value::object({{"type", "random_erasing"}, {"min_area", 0.9}});
  CHECK_THROWS_AS(make_transform({"random_erasing", options}, "dataset.augment.0"), ConfigError);
}
