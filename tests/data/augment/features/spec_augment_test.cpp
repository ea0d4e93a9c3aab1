#include <catch2/catch.hpp>

#include <set>

#include "tests/data/config.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

std::unique_ptr<const FeatureTransform> features(const std::string& json) {
  return make_feature_transform(component(json), "dataset.augment");
}

// Numbers that are all different, with mean 0.
std::vector<float> ramp(std::int64_t frames, std::int64_t channels) {
  std::vector<float> x;
  const auto n = static_cast<float>(frames * channels);
  for (std::int64_t i = 0; i < frames * channels; ++i)
    x.push_back(static_cast<float>(i) - (n - 1) / 2);
  return x;
}

}  // namespace

TEST_CASE("spec_augment: whole bands and stretches become the mean", "[data]") {
  constexpr std::int64_t kFrames = 60, kMels = 20;
  const auto transform = features(
      R"({"type": "spec_augment", "freq_masks": 1, "freq_width": 5, "time_masks": 2,
          "time_ratio": 0.1})");
  std::set<std::size_t> seen_bands, seen_stretches;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::vector<float> before = ramp(kFrames, kMels);
    std::vector<float> x = before;
    transform->apply({kFrames, kMels, x}, RandomStream(seed));
    std::vector<bool> band(kMels, true), stretch(kFrames, true);
    for (std::int64_t t = 0; t < kFrames; ++t) {
      for (std::int64_t c = 0; c < kMels; ++c) {
        const auto i = static_cast<std::size_t>(t * kMels + c);
        if (x[i] == before[i]) {
          band[static_cast<std::size_t>(c)] = false;
          stretch[static_cast<std::size_t>(t)] = false;
        } else {
          CHECK(x[i] == 0);
        }
      }
    }
    for (std::int64_t t = 0; t < kFrames; ++t) {
      for (std::int64_t c = 0; c < kMels; ++c) {
        const auto i = static_cast<std::size_t>(t * kMels + c);
        const bool masked =
            band[static_cast<std::size_t>(c)] || stretch[static_cast<std::size_t>(t)];
        CHECK((x[i] != before[i]) == masked);
      }
    }
    const auto bands = static_cast<std::size_t>(std::count(band.begin(), band.end(), true));
    const auto stretches =
        static_cast<std::size_t>(std::count(stretch.begin(), stretch.end(), true));
    CHECK(bands <= 5);
    CHECK(stretches <= 12);
    seen_bands.insert(bands);
    seen_stretches.insert(stretches);
  }
  CHECK(seen_bands.size() == 6);
  CHECK(seen_stretches.size() > 5);
}

TEST_CASE("spec_augment: the same draws give the same masks; nothing may be masked", "[data]") {
  const auto transform = features(R"({"type": "spec_augment"})");
  std::vector<float> a = ramp(100, 30), b = a;
  transform->apply({100, 30, a}, RandomStream(3));
  transform->apply({100, 30, b}, RandomStream(3));
  CHECK(a == b);
  std::vector<float> few = ramp(3, 2);
  const std::vector<float> before = few;
  features(R"({"type": "spec_augment", "freq_masks": 0})")->apply({3, 2, few}, RandomStream(1));
  CHECK(few == before);  // a twentieth of 3 frames is none
}

TEST_CASE("spec_augment: it is for features of recordings alone", "[data]") {
  CHECK_THROWS_WITH(features(R"({"type": "horizontal_flip"})"),
                    Catch::Contains("not to features of recordings"));
  CHECK_THROWS_AS(picture(R"({"type": "spec_augment"})"), ConfigError);
}
