#include "data/augment/transforms.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "data/augment/resize.h"
#include "data/augment/transform_entry.h"
#include "data/augment/volumes/volume_augment.h"
#include "schema/json/parse.h"
#include "tests/data/config.h"

using namespace fovea;
using namespace fovea::data;
using fovea::data::test::picture;

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
  for (const schema::Choice& choice : transform_choices(kPictures).list()) {
    const auto transform = make_picture_transform({choice.name, {}}, "dataset.augment");
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
  const auto crop = picture(R"({"type": "random_crop", "padding": 2})");
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

TEST_CASE("random_resized_crop: parts lie inside, with shares and ratios in their ranges",
          "[data]") {
  constexpr std::int64_t kHeight = 90, kWidth = 120;
  const auto crop = picture(R"({"type": "random_resized_crop"})");
  double least = 1, most = 0, sum = 0, log_ratio = 0;
  std::set<std::int64_t> tops, lefts;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Box box = crop->cut(kHeight, kWidth, {RandomStream(seed), {}});
    REQUIRE((box.top >= 0 && box.left >= 0 && box.height >= 1 && box.width >= 1));
    REQUIRE((box.top + box.height <= kHeight && box.left + box.width <= kWidth));
    const double share =
        static_cast<double>(box.height * box.width) / static_cast<double>(kHeight * kWidth);
    const double ratio = static_cast<double>(box.width) / static_cast<double>(box.height);
    CHECK((share > 0.075 && share <= 1));
    CHECK((ratio > 0.73 && ratio < 1.37));  // sides are whole numbers
    least = std::min(least, share);
    most = std::max(most, share);
    sum += share;
    log_ratio += std::log(ratio);
    tops.insert(box.top);
    lefts.insert(box.left);
  }
  CHECK(least < 0.1);
  CHECK(most > 0.95);
  // Means of 200,000 draws of the same procedure in Python; large parts of a ratio that does not
  // fit are drawn again.
  CHECK(sum / 1000 == Approx(0.436).margin(0.02));
  CHECK(log_ratio / 1000 == Approx(0.031).margin(0.015));
  CHECK((tops.size() > 40 && lefts.size() > 50));
}

TEST_CASE("random_resized_crop: what never fits is the largest centred part of a near ratio",
          "[data]") {
  const auto crop =
      picture(R"({"type": "random_resized_crop", "scale": [1, 1], "ratio": [0.75, 1.25]})");
  const auto check = [&](std::int64_t height, std::int64_t width, const Box& expected) {
    const Box box = crop->cut(height, width, {RandomStream(1), {}});
    CHECK(box.top == expected.top);
    CHECK(box.left == expected.left);
    CHECK(box.height == expected.height);
    CHECK(box.width == expected.width);
  };
  check(100, 30, {30, 0, 40, 30});
  check(40, 101, {0, 25, 40, 50});
  check(1, 1, {0, 0, 1, 1});
}

TEST_CASE("random_resized_crop: the part is resized to the old size", "[data]") {
  const auto crop = picture(R"({"type": "random_resized_crop"})");
  const std::vector<float> original = counting(2, 8, 6);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const TransformContext context{RandomStream(seed), {}};
    const Box box = crop->cut(8, 6, context);
    std::vector<float> x = original;
    crop->apply({2, 8, 6, x.data()}, context);
    // Pixels grow by one along a row and by six down a column, at every scale.
    for (std::int64_t i = 0; i < 8; ++i) {
      for (std::int64_t j = 0; j < 6; ++j) {
        const auto place = [](std::int64_t at, std::int64_t from, std::int64_t to) {
          const double centre =
              (static_cast<double>(at) + 0.5) * static_cast<double>(from) / static_cast<double>(to);
          return std::clamp(centre - 0.5, 0.0, static_cast<double>(from - 1));
        };
        const double row = static_cast<double>(box.top) + place(i, box.height, 8);
        const double column = static_cast<double>(box.left) + place(j, box.width, 6);
        CHECK(x[static_cast<std::size_t>(i * 6 + j)] ==
              Approx((6 * row + column + 1) / 96).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("horizontal_flip: mirrors every row, with its probability", "[data]") {
  const std::vector<float> original = counting(2, 2, 3);
  std::vector<float> x = original;
  picture(R"({"type": "horizontal_flip", "prob": 1.0})")
      ->apply({2, 2, 3, x.data()}, {RandomStream(0), {}});
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t j = 0; j < 3; ++j) CHECK(x[row * 3 + j] == original[row * 3 + 2 - j]);
  }
  picture(R"({"type": "horizontal_flip", "prob": 0.0})")
      ->apply({2, 2, 3, x.data()}, {RandomStream(0), {}});
  CHECK(x != original);
  int flipped = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    std::vector<float> y = {0.0f, 1.0f};
    picture(R"({"type": "horizontal_flip"})")->apply({1, 1, 2, y.data()}, {RandomStream(seed), {}});
    flipped += y[0] == 1.0f ? 1 : 0;
  }
  CHECK(flipped == Approx(500).margin(60));
}

TEST_CASE("random_erasing: one rectangle in the given share of the area", "[data]") {
  const auto erase =
      picture(R"({"type": "random_erasing", "prob": 1, "min_area": 0.1, "max_area": 0.3})");
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

TEST_CASE("transforms: unknown names and options out of range are refused", "[data]") {
  CHECK_THROWS_WITH(make_picture_transform({"random_crp", {}}, "dataset.augment.0"),
                    Catch::Contains("did you mean \"random_crop\"?"));
  schema::Value options = schema::Value::object({{"type", "random_crop"}, {"padding", -1}});
  CHECK_THROWS_AS(make_picture_transform({"random_crop", options}, "dataset.augment.0"),
                  ConfigError);
  options = schema::parse(R"({"type": "random_resized_crop", "scale": [0.5, 0.2]})", "test");
  CHECK_THROWS_WITH(make_picture_transform({"random_resized_crop", options}, "dataset.augment.0"),
                    Catch::Contains("a smallest and a largest number"));
  options = schema::Value::object({{"type", "random_erasing"}, {"min_area", 0.9}});
  CHECK_THROWS_AS(make_picture_transform({"random_erasing", options}, "dataset.augment.0"),
                  ConfigError);
}

TEST_CASE("random_erasing: pixel noise is standard normal behind the normalisation", "[data]") {
  const auto erasing = picture(
      R"({"type": "random_erasing", "prob": 1, "min_area": 0.3, "max_area": 0.3, "fill": "pixel"})");
  const std::vector<double> mean = {0.2, 0.8}, deviation = {0.1, 0.4};
  double sum = 0, squares = 0;
  std::int64_t count = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> original = counting(2, 40, 40);
    std::vector<float> x = original;
    erasing->apply({2, 40, 40, x.data()}, {RandomStream(seed), mean, deviation});
    std::vector<bool> erased;
    for (std::size_t i = 0; i < x.size(); ++i) erased.push_back(x[i] != original[i]);
    normalise({2, 40, 40, x.data()}, mean, deviation);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!erased[i]) continue;
      sum += double{x[i]};
      squares += double{x[i]} * double{x[i]};
      ++count;
    }
  }
  CHECK(static_cast<double>(count) == Approx(20 * 3200 * 0.3).epsilon(0.05));
  CHECK(sum / static_cast<double>(count) == Approx(0).margin(0.03));
  CHECK(squares / static_cast<double>(count) == Approx(1).margin(0.04));
}

TEST_CASE("random_resized_crop: bicubic as pictures of 8 bits are resized", "[data]") {
  const auto crop = picture(R"({"type": "random_resized_crop", "interpolation": "bicubic"})");
  const std::vector<float> original = counting(3, 12, 10);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const TransformContext context{RandomStream(seed), {}};
    std::vector<float> x = original, copy = original;
    crop->apply({3, 12, 10, x.data()}, context);
    const Image part = data::crop(to_image({3, 12, 10, copy.data()}), crop->cut(12, 10, context));
    std::vector<float> expected(x.size());
    to_planes(resize(part, 12, 10, {.how = Resampling::kBicubic}), 255,
              {3, 12, 10, expected.data()});
    CHECK(x == expected);
  }
}

TEST_CASE("transforms: one that does not apply to the data is refused by name", "[data]") {
  const std::string masked =
      "; those that do: random_crop, random_resized_crop, horizontal_flip, vertical_flip, "
      "random_rotation, crop_flip, random_erasing, rotate, random_brightness_contrast, "
      "gaussian_blur, elastic_transform, rot_flip_or_rotate, photometric_distortion, "
      "random_rescale, random_class_crop, pad";
  CHECK_THROWS_WITH(
      make_picture_transform({"rand_augment", {}}, "dataset.augment.1", kMaskedPictures),
      Catch::StartsWith("dataset.augment.1.type: \"rand_augment\" applies to pictures, not to "
                        "pictures with masks" +
                        masked));
  CHECK_THROWS_WITH(
      make_picture_transform(fovea::data::test::component(
                                 R"({"type": "random_resized_crop", "interpolation": "bicubic"})"),
                             "dataset.augment.0", kMaskedPictures),
      "dataset.augment.0.interpolation: interpolation is an option of \"random_resized_crop\" for "
      "pictures, not for pictures with masks");
  CHECK_THROWS_WITH(
      make_dataset(fovea::data::test::component(R"({"type": "synthetic", "augment": ["blur"]})"),
                   Split::kTrain),
      Catch::Contains("dataset.augment.0.type: \"blur\" applies to volumes, not to "
                      "pictures; those that do: random_crop, "));
  CHECK_THROWS_WITH(make_volume_transform({"rotate", {}}, "dataset.augment"),
                    Catch::Contains("applies to pictures and pictures with masks, not to volumes; "
                                    "those that do: turn, noise, "));
}

namespace fovea::data {
namespace {

struct ToyOptions {
  double factor = 0.5;
};

// What source files of new transforms hold: one of pictures, one of volumes, one of all.
class ToyDarken final : public PictureTransform {
 public:
  explicit ToyDarken(const ToyOptions& o) : o_(o) {}
  void apply(Planes x, const TransformContext& /*context*/) const override {
    for (float& value : x.values()) value *= static_cast<float>(o_.factor);
  }

 private:
  ToyOptions o_;
};

FOVEA_TRANSFORM(toy_darken, ToyDarken, kPictures, "multiply by a factor",
                schema::Fields<ToyOptions>{}.add("factor", &ToyOptions::factor,
                                                 schema::in_range(0, 1), "of all values"))

class ToyNegate final : public ChannelTransform {
 public:
  explicit ToyNegate(const NoOptions&) : ChannelTransform(1) {}

 private:
  void change(std::span<float> values, const VolumeSides& /*size*/,
              const RandomStream& /*draws*/) const override {
    for (float& value : values) value = -value;
  }
};

FOVEA_TRANSFORM(toy_negate, ToyNegate, kVolumes, "the negated values", schema::Fields<NoOptions>{})

class ToyClear final : public PictureTransform, public VolumeTransform {
 public:
  explicit ToyClear(const NoOptions&) {}
  void apply(Planes x, const TransformContext& /*context*/) const override {
    std::ranges::fill(x.values(), 0.0f);
  }
  void apply(VolumeCrop& crop, const RandomStream& /*draws*/) const override {
    std::ranges::fill(crop.values, 0.0f);
  }
};

FOVEA_TRANSFORM(toy_clear, ToyClear, kPictures | kMaskedPictures | kVolumes, "zeros",
                schema::Fields<NoOptions>{})

}  // namespace
}  // namespace fovea::data

TEST_CASE("transforms: a new one is a source file and a line", "[data]") {
  transforms().add(transform_entry_toy_darken());
  transforms().add(transform_entry_toy_negate());
  transforms().add(transform_entry_toy_clear());
  const auto first = [](const std::string& augment) {
    const auto dataset = fovea::data::test::make_images(
        fovea::data::test::component(
            R"({"type": "synthetic", "img_size": 8, "normalise": false, "augment": [)" + augment +
            "]}"),
        Split::kTrain);
    return fovea::data::test::image_of(fovea::data::test::prepared(*dataset, 0, {.augment = true}));
  };
  std::vector<float> expected = first("");
  for (float& value : expected) value *= 0.25f;
  CHECK(first(R"({"type": "toy_darken", "factor": 0.25})") == expected);
  CHECK(first("\"toy_clear\"") == std::vector<float>(expected.size(), 0.0f));
  CHECK_THROWS_WITH(first("\"toy_negate\""), Catch::Contains("applies to volumes"));
  CHECK_THROWS_WITH(make_picture_transform({"toy_darken", {}}, "", kMaskedPictures),
                    Catch::Contains("applies to pictures, not to pictures with masks"));
  CHECK_NOTHROW(make_picture_transform({"toy_clear", {}}, "", kMaskedPictures));

  PreparedVolume volume;
  volume.size = {2, 1, 2};
  volume.values = {1, 2, 3, 4};
  const auto changed = [&](const char* name) {
    return VolumeAugmentation(std::vector<schema::Component>{{name, {}}})
        .crop(volume, volume.size, {0, 0, 0}, Outside::kZeros, RandomStream(1))
        .values;
  };
  CHECK(changed("toy_negate") == std::vector<float>{-1, -2, -3, -4});
  CHECK(changed("toy_clear") == std::vector<float>{0, 0, 0, 0});
  CHECK_THROWS_WITH(changed("toy_darken"), Catch::Contains("not to volumes"));
}
