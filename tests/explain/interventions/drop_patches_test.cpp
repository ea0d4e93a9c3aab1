#include "explain/interventions/drop_patches.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "base/error.h"
#include "tests/explain/interventions/small_networks.h"

using namespace fovea;
using explain::drawing_patches;
using explain::dropped_patches;
using explain::patch_drop;
using explain::PatchDrop;
using explain::Units;

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers dropped(const std::string& text, const Units& units, std::int64_t sample = 0) {
  const PatchDrop drop = patch_drop(text, "zero", 1);
  return dropped_patches(drop, units, drawing_patches(drop, sample));
}

}  // namespace

TEST_CASE("drop patches: numbers and ranges, each once", "[explain]") {
  const Units units(4, 4, 8, 8);
  CHECK(dropped("3,1,5-7,6", units) == Numbers{1, 3, 5, 6, 7});
  CHECK(dropped("15", units) == Numbers{15});
  CHECK_THROWS_WITH(dropped("3,16", units),
                    Catch::Contains("--drop-patches 3,16: no patch 16; images of 8 x 8 pixels have "
                                    "4 x 4 patches here, 0 to 15"));
  for (const char* bad : {"", ",", "1,", "a", "2-1", "-1", "101%", "-1%", "%", "nan%", "1;2"}) {
    INFO(bad);
    CHECK_THROWS_WITH(patch_drop(bad, "zero", 1), Catch::Contains("--drop-patches"));
  }
  CHECK_THROWS_WITH(patch_drop("1", "blurr", 1), Catch::Contains("did you mean \"blur\"?"));
}

TEST_CASE("drop patches: a share is drawn for every sample, and grows", "[explain]") {
  const Units units(4, 4, 8, 8);
  CHECK(dropped("0%", units).empty());
  CHECK(dropped("100%", units).size() == 16);
  const Numbers few = dropped("25%", units, 3), many = dropped("50%", units, 3);
  CHECK(few.size() == 4);
  CHECK(many.size() == 8);
  CHECK(std::includes(many.begin(), many.end(), few.begin(), few.end()));
  CHECK(dropped("50%", units, 3) == many);
  CHECK(dropped("50%", units, 4) != many);
  const PatchDrop other = patch_drop("50%", "zero", 2);
  CHECK(dropped_patches(other, units, drawing_patches(other, 3)) != many);
}

TEST_CASE("drop patches: the baseline stands where patches were, and only there", "[explain]") {
  const Tensor images = test::normal_images({2, 3, 8, 8}, 1);
  const PatchDrop drop = patch_drop("1,2", "zero", 1);
  const std::vector<RandomStream> draws = {drawing_patches(drop, 0), drawing_patches(drop, 1)};
  const std::vector<double> before = host_doubles(images);
  const std::vector<double> after = host_doubles(without_patches(images, drop, {2, 2}, {}, draws));
  for (std::size_t k = 0; k < before.size(); ++k) {
    const std::size_t y = k / 8 % 8, x = k % 8, patch = y / 4 * 2 + x / 4;
    CHECK(after[k] == (patch == 1 || patch == 2 ? 0.0 : before[k]));
  }
  // Without a grid of patches 14 x 14 blocks, here as many as pixels.
  const PatchDrop last = patch_drop("63", "zero", 1);
  const std::vector<double> pixel = host_doubles(without_patches(images, last, {}, {}, draws));
  CHECK(pixel[63] == 0);
  CHECK(pixel[62] == before[62]);
}
