// Transforms that change the size of pictures with masks (mala 7.3).
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "data/augment/pictures/masked_picture.h"
#include "tests/data/config.h"

using namespace fovea;
using namespace fovea::data;

namespace {

std::unique_ptr<const PictureTransform> masked(const std::string& json) {
  return make_picture_transform(fovea::data::test::component(json), "dataset.augment.0",
                                kMaskedPictures);
}

// Three channels whose values are those of the mask / 255; the mask as `label` says.
template <class Label>
MaskedPicture scene(std::int64_t height, std::int64_t width, const Label& label) {
  MaskedPicture picture{OwnPlanes(3, height, width), OwnPlanes(1, height, width), true};
  for (std::int64_t i = 0; i < height * width; ++i) {
    const auto value = static_cast<float>(label(i / width, i % width));
    picture.mask.planes().data[i] = value;
    for (std::int64_t c = 0; c < 3; ++c) picture.image.planes().channel(c)[i] = value / 255;
  }
  return picture;
}

std::map<int, int> counts_of(MaskedPicture& picture) {
  std::map<int, int> counts;
  for (const float value : picture.mask.values()) ++counts[static_cast<int>(value)];
  return counts;
}

}  // namespace

TEST_CASE("rescaled_size: as large as both limits allow, rounded as mmcv", "[data]") {
  using Size = std::array<std::int64_t, 2>;
  CHECK(rescaled_size(600, 800, 512, 2048) == Size{512, 683});
  CHECK(rescaled_size(427, 640, 800, 1333) == Size{800, 1199});
  CHECK(rescaled_size(800, 600, 512, 2048) == Size{683, 512});
  CHECK(rescaled_size(100, 1000, 512, 2048) == Size{205, 2048});
  CHECK(rescaled_size(512, 512, 512, 2048) == Size{512, 512});
  CHECK(rescaled_size(1, 5000, 10, 20) == Size{1, 20});
}

TEST_CASE("random_rescale: ratio kept, both planes together, scales between the limits", "[data]") {
  const auto transform =
      masked(R"({"type": "random_rescale", "shorter": 32, "longer": 128, "ratio": [0.5, 2]})");
  CHECK(transform->reshapes());
  std::int64_t least = 1000, most = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    MaskedPicture picture = scene(30, 50, [](auto, auto x) { return x < 25 ? 3 : 7; });
    transform->reshape(picture, {RandomStream(seed), {}});
    const std::int64_t height = picture.image.height(), width = picture.image.width();
    CHECK(picture.mask.height() == height);
    CHECK(picture.mask.width() == width);
    CHECK(static_cast<double>(width) / static_cast<double>(height) ==
          Approx(50.0 / 30).epsilon(0.04));
    least = std::min(least, height);
    most = std::max(most, height);
    const auto counts = counts_of(picture);
    REQUIRE(counts.size() == 2);  // labels are not mixed
    CHECK(counts.at(3) == Approx(counts.at(7)).margin(static_cast<double>(height)));
  }
  CHECK(least >= 16);
  CHECK(least < 22);
  CHECK(most <= 64);
  CHECK(most > 56);
  CHECK_THROWS_WITH(masked(R"({"type": "random_rescale", "ratio": [2, 1]})"),
                    Catch::Contains("a smallest and a largest"));
}

TEST_CASE("random_class_crop: no class has too large a share where that is possible", "[data]") {
  const auto crop = [](const std::string& more) {
    return masked(R"({"type": "random_class_crop", "size": [10, 12])" + more + "}");
  };
  // One class but for a stripe.
  const auto stripe = [](auto, auto x) { return x >= 30 && x < 36 ? 2 : 1; };
  const auto share = [&](const PictureTransform& transform, std::uint64_t seed) {
    MaskedPicture picture = scene(20, 60, stripe);
    transform.reshape(picture, {RandomStream(seed), {}});
    CHECK(picture.image.height() == 10);
    CHECK(picture.mask.width() == 12);
    for (std::size_t i = 0; i < 120; ++i)  // both are cut at one place
      CHECK(picture.image.values()[i] * 255 == Approx(picture.mask.values()[i]));
    int most = 0;
    for (const auto& [label, count] : counts_of(picture)) most = std::max(most, count);
    return most / 120.0;
  };
  int mixed = 0, free = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    mixed += share(*crop(R"(, "tries": 100)"), seed) < 0.75 ? 1 : 0;
    free += share(*crop(R"(, "max_share": 1)"), seed) < 0.75 ? 1 : 0;
  }
  CHECK(mixed == 60);
  CHECK(free < 40);
  CHECK(free > 2);
  // Where it is not possible, the last place is taken; ignored pixels are no class.
  for (const int other : {0, 1}) {
    MaskedPicture picture = scene(20, 60, [&](auto, auto x) { return x % 2 == 0 ? 1 : other; });
    crop("")->reshape(picture, {RandomStream(5), {}});
    CHECK(picture.image.width() == 12);
  }
  // What is smaller stays whole.
  MaskedPicture small = scene(6, 40, stripe);
  crop("")->reshape(small, {RandomStream(5), {}});
  CHECK(small.image.height() == 6);
  CHECK(small.image.width() == 12);
}

TEST_CASE("random_class_crop: soft masks have two classes", "[data]") {
  const auto transform = masked(R"({"type": "random_class_crop", "size": [4, 4], "tries": 1000})");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    MaskedPicture picture = scene(4, 40, [](auto, auto x) { return x < 20 ? 0 : 1; });
    picture.labels = false;
    transform->reshape(picture, {RandomStream(seed), {}});
    const auto counts = counts_of(picture);
    REQUIRE(counts.size() == 2);
    CHECK(counts.at(0) == 8);
  }
}

TEST_CASE("pad: the mean of each channel below and to the right, without a label", "[data]") {
  const auto transform = masked(R"({"type": "pad", "size": [4, 3]})");
  const std::vector<double> mean = {0.5, 0.25, 0.125};
  MaskedPicture picture = scene(2, 5, [](auto y, auto x) { return 1 + 5 * y + x; });
  transform->reshape(picture, {RandomStream(1), mean});
  REQUIRE(picture.image.height() == 4);
  REQUIRE(picture.image.width() == 5);
  for (std::int64_t i = 0; i < 20; ++i) {
    CHECK(picture.mask.planes().data[i] == (i < 10 ? static_cast<float>(i + 1) : 0.0f));
    for (std::int64_t c = 0; c < 3; ++c)
      CHECK(picture.image.planes().channel(c)[i] ==
            (i < 10 ? static_cast<float>(i + 1) / 255 : static_cast<float>(mean[std::size_t(c)])));
  }
}
