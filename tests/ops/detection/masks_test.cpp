#include "ops/detection/masks.h"

#include <algorithm>

#include "base/error.h"
#include "ops/detection/roi_align.h"
#include "tests/ops/detection/host_tables.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Discs in images of 30 x 40 pixels.
Tensor discs() {
  std::vector<std::uint8_t> pixels;
  for (const int radius : {6, 11}) {
    for (int y = 0; y < 30; ++y) {
      for (int x = 0; x < 40; ++x)
        pixels.push_back((x - 18) * (x - 18) + (y - 14) * (y - 14) < radius * radius ? 1 : 0);
    }
  }
  return Tensor::from(pixels, {2, 30, 40}, make_cpu(1));
}

}  // namespace

TEST_CASE("mask_targets: RoIAlign of the mask, from a half on", "[ops]") {
  const std::vector<float> sides{12, 8, 24, 20, -4, 3, 31, 44, 17.3f, 2, 18, 29, 5, 5, 5, 20};
  const std::vector<std::int64_t> which{0, 1, 1, 0};
  const Tensor masks = discs();
  const Tensor targets = ops::mask_targets(masks, boxes(sides), which, 9);
  std::vector<float> rois, maps;
  for (std::size_t i = 0; i < 4; ++i) {
    rois.push_back(static_cast<float>(which[i]));
    for (std::size_t k = 0; k < 4; ++k) rois.push_back(sides[4 * i + k]);
  }
  for (const std::uint8_t pixel : masks.values<std::uint8_t>()) maps.push_back(pixel);
  const Tensor means =
      ops::roi_align(Tensor::from(maps, {2, 1, 30, 40}, make_cpu(1)),
                     Tensor::from(rois, {4, 5}, make_cpu(1)), {.height = 9, .width = 9});
  std::int64_t inside = 0;
  for (std::int64_t i = 0; i < targets.numel(); ++i) {
    const float mean = means.data<float>()[i];
    if (std::abs(mean - 0.5f) < 1e-5f) continue;
    CHECK(targets.data<float>()[i] == (mean > 0.5f ? 1 : 0));
    inside += mean > 0.5f ? 1 : 0;
  }
  CHECK(inside > 100);
  CHECK_THROWS_WITH(ops::mask_targets(discs(), boxes({0, 0, 4, 4}), {2}, 9),
                    "mask_targets: box 0 has mask 2; there are 2");
}

TEST_CASE("mask_targets: masks of any value count alike", "[ops]") {
  std::vector<std::uint8_t> pixels(24, 255);
  const Tensor masks = Tensor::from(pixels, {1, 4, 6}, make_cpu(1));
  for (const double value : to_doubles(ops::mask_targets(masks, boxes({1, 1, 5, 3}), {0}, 4)))
    CHECK(value == 1);
}

TEST_CASE("paste_masks: a box of the mask's size gives the mask, a larger one stretches it",
          "[ops]") {
  const Tensor mask = Tensor::from<float>({0.1f, 0.9f, 0.4f, 0.6f}, {1, 2, 2}, make_cpu(1));
  const auto pasted = [&](const std::vector<float>& box) {
    return to_doubles(ops::paste_masks(mask, boxes(box), 4, 5));
  };
  const std::vector<double> same = pasted({1, 2, 3, 4});
  std::vector<double> expected(20, 0);
  expected[11] = 0.1f;
  expected[12] = 0.9f;
  expected[16] = 0.4f;
  expected[17] = 0.6f;
  CHECK(same == expected);
  // Twice as large: centres of pixels lie a quarter from those of the mask, also outside of them.
  const std::vector<double> large = pasted({0, 0, 4, 4});
  CHECK(large[0] == Approx(0.75 * 0.75 * 0.1));
  CHECK(large[1] == Approx(0.75 * (0.75 * 0.1 + 0.25 * 0.9)));
  CHECK(large[6] == Approx(0.75 * (0.75 * 0.1 + 0.25 * 0.9) + 0.25 * (0.75 * 0.4 + 0.25 * 0.6)));
  CHECK(large[4] == Approx(0.25 * 0.75 * 0.9));
}

TEST_CASE("paste_masks: boxes over the edge, of no area, outside", "[ops]") {
  const Tensor ones = Tensor::from(std::vector<float>(36, 1), {4, 3, 3}, make_cpu(1));
  const Tensor pasted = ops::paste_masks(
      ones, boxes({-20, -20, 20, 20, 2, 2, 2, 4, 90, 90, 95, 95, 4, 1, 1, 3}), 5, 6);
  REQUIRE(pasted.shape() == Shape{4, 5, 6});
  const std::vector<double> values = to_doubles(pasted);
  CHECK(std::all_of(values.begin(), values.begin() + 30, [](double v) { return v == Approx(1); }));
  CHECK(std::all_of(values.begin() + 30, values.end(), [](double v) { return v == 0; }));
  CHECK_THROWS_AS(ops::paste_masks(ones, boxes({0, 0, 1, 1}), 5, 6), ShapeError);
}
