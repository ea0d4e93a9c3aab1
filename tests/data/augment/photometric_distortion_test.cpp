#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "tests/data/config.h"

using namespace fovea;
using namespace fovea::data;
using fovea::data::test::picture;

namespace {

using Colour = std::array<float, 3>;

// Pixels of these colours side by side, distorted.
std::vector<Colour> distorted(const PictureTransform& transform, const std::vector<Colour>& colours,
                              std::uint64_t seed) {
  const std::size_t n = colours.size();
  std::vector<float> planes(3 * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < 3; ++c) planes[c * n + i] = colours[i][c];
  }
  transform.apply({3, 1, static_cast<std::int64_t>(n), planes.data()}, {RandomStream(seed), {}});
  std::vector<Colour> result(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < 3; ++c) result[i][c] = planes[c * n + i];
  }
  return result;
}

// Without the changes whose keys are not in `keys`.
std::unique_ptr<const PictureTransform> only(const std::string& keys) {
  const auto or_none = [&](const char* key, const char* none) {
    return keys.find(key) == std::string::npos ? fmt::format(R"(, "{}": {})", key, none) : "";
  };
  return picture(R"({"type": "photometric_distortion", "prob": 1)" +
                 or_none("brightness_delta", "0") + or_none("contrast_range", "[1, 1]") +
                 or_none("saturation_range", "[1, 1]") + or_none("hue_delta", "0") + keys + "}");
}

const std::vector<Colour> kColours = {
    {0.8f, 0.2f, 0.4f}, {0.3f, 0.3f, 0.3f}, {0.0f, 0.0f, 0.0f}, {0.1f, 0.9f, 0.9f}};

}  // namespace

TEST_CASE("photometric_distortion: what is not drawn leaves pictures as they are", "[data]") {
  const auto never = picture(R"({"type": "photometric_distortion", "prob": 0})");
  CHECK_FALSE(never->moves_pixels());
  CHECK(distorted(*never, kColours, 3) == kColours);
  const auto same = only("");
  for (const Colour& colour : distorted(*same, kColours, 3)) {
    const auto known = std::ranges::find_if(kColours, [&](const Colour& one) {
      return std::abs(one[0] - colour[0]) + std::abs(one[1] - colour[1]) < 1e-6f;
    });
    CHECK(known != kColours.end());
  }
}

TEST_CASE("photometric_distortion: brightness is added and contrast multiplies", "[data]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto brighter = distorted(*only(R"(, "brightness_delta": 32)"), kColours, seed);
    const float added = brighter[1][0] - 0.3f;
    CHECK(std::abs(added) <= 32.0f / 255 + 1e-6f);
    CHECK(brighter[0][2] == Approx(0.4f + added));
    CHECK(brighter[2][0] == Approx(std::max(added, 0.0f)));
    const auto scaled = distorted(*only(R"(, "contrast_range": [0.5, 1.5])"), kColours, seed);
    const float factor = scaled[1][0] / 0.3f;
    CHECK(factor >= 0.5f - 1e-6f);
    CHECK(factor <= 1.5f + 1e-6f);
    CHECK(scaled[0][0] == Approx(std::min(0.8f * factor, 1.0f)));
    CHECK(scaled[2] == Colour{0, 0, 0});
  }
}

TEST_CASE("photometric_distortion: saturation and hue, by hand", "[data]") {
  // Half of the saturation: the largest channel stays, the others come half-way to it.
  const auto pale = distorted(*only(R"(, "saturation_range": [0.5, 0.5])"), kColours, 1);
  CHECK(pale[0][0] == Approx(0.8f));
  CHECK(pale[0][1] == Approx(0.5f));
  CHECK(pale[0][2] == Approx(0.6f));
  CHECK(pale[1][0] == Approx(0.3f));
  // No colour is more than saturated.
  const auto vivid = distorted(*only(R"(, "saturation_range": [9, 9])"), kColours, 1);
  CHECK(vivid[0][1] == Approx(0.0f).margin(1e-6));
  CHECK(vivid[0][0] == Approx(0.8f));
  // A turn of the hue keeps the largest and the smallest channel, and grey.
  std::set<float> seen;
  const std::vector<Colour> red = {{0.75f, 0.25f, 0.25f}, {0.4f, 0.4f, 0.4f}};
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto turned = distorted(*only(R"(, "hue_delta": 18)"), red, seed);
    CHECK(std::ranges::max(turned[0]) == Approx(0.75f));
    CHECK(std::ranges::min(turned[0]) == Approx(0.25f));
    CHECK(turned[1][2] == Approx(0.4f));
    // 18 steps are 36 degrees: at most 0.6 of the way from red to yellow or magenta.
    CHECK(turned[0][0] == Approx(0.75f));
    CHECK(turned[0][1] <= 0.25f + 0.3f + 1e-5f);
    CHECK(turned[0][2] <= 0.25f + 0.3f + 1e-5f);
    CHECK((turned[0][1] < 0.2501f || turned[0][2] < 0.2501f));
    seen.insert(turned[0][1] - turned[0][2]);
  }
  CHECK(*seen.begin() < -0.05f);
  CHECK(*seen.rbegin() > 0.05f);
}

TEST_CASE("photometric_distortion: grey pictures keep one channel, results are in [0, 1]",
          "[data]") {
  const auto transform = picture(R"({"type": "photometric_distortion"})");
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<float> grey = {0.0f, 0.4f, 1.0f};
    transform->apply({1, 1, 3, grey.data()}, {RandomStream(seed), {}});
    changed += grey[1] != 0.4f ? 1 : 0;
    for (const Colour& colour : distorted(*transform, kColours, seed)) {
      for (const float value : colour) CHECK((value >= 0.0f && value <= 1.0f));
    }
  }
  CHECK(changed == Approx(30).margin(9));  // brightness or contrast: 3 of 4
  CHECK_THROWS_WITH(picture(R"({"type": "photometric_distortion", "contrast_range": [2, 1]})"),
                    Catch::Contains("a smallest and a largest number"));
}
