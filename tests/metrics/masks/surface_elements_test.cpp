// Surface Dice against DeepMind's surface-distance 0.1, mean distances against medpy 0.5.2, lesions
// against scipy.ndimage.label.
#include "metrics/masks/surface_elements.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <numeric>
#include <string>

#include "base/error.h"
#include "metrics/cases/case_metric.h"
#include "metrics/masks/components.h"
#include "metrics/masks/lesions.h"
#include "metrics/masks/surface.h"

using namespace fovea;
using namespace fovea::metrics;

namespace {

using Mask = std::vector<std::uint8_t>;

struct Compared {
  Grid grid;
  double tolerance;
  std::string truth, predicted;  // a digit a pixel
  double nsd, assd;
  std::int64_t lesions;  // of the truth
  double lesion_f1;
};

// Boxes with single pixels, and noise.
const std::vector<Compared>& compared() {
  static const std::vector<Compared> all = {
      {{{9, 13}, {1, 1}},
       1,
       "0110000111100011000011110000000001111001000000111100000000010000011000000001001100000000000"
       "00000001000000000000000000",
       "0000000001100000000001000000000000000000000000000100000001101100001000110110000100000000000"
       "00000000000000000000000000",
       0.77444418857362607,
       1.2869046676311184,
       6,
       0.44444444444444442},
      {{{8, 9}, {0.7, 1.9}},
       1.5,
       "001111100000111100000000000000001100011111100011110000111110000011110000",
       "000110000000110000000110000000110000001111100001111100000000000000100000",
       0.84362623597868525,
       0.77438144194079817,
       2,
       1},
      {{{5, 6, 7}, {3, 0.8, 1.1}},
       2,
       "0000001011000001100010110001011000000000000000000011100001110000110000011000000000000000000"
       "0011000001100000000010000000000000000000000000000000000100001000000000000000000000000000000"
       "0000000000000000000000001000",
       "0000000001000000011000011100000110000011000000000010000000111000001100000110000011000000000"
       "0010000011110001111000001100000110000000000000000011000001100000000000000000000000000000000"
       "0000000000000000000000000000",
       0.92490924888322734,
       1.3292544401259891,
       5,
       0.33333333333333331},
      {{{4, 7, 6}, {1.25, 1.25, 2.5}},
       1.25,
       "1100001100001100001100001111111111110000001100001100001101001100001111111111110000000000000"
       "00000110000110000111111111111000000000000000000110000110000110000110000000000",
       "1101101001100011100011000010001000100000000101100101101011100011000100100011110000000001100"
       "00110011110011100000000000000000000000000000000011100011100000000000000000000",
       0.86070981314205519,
       1.2401007875383776,
       2,
       1},
      {{{6, 6, 7}, {2.5, 0.5, 0.75}},
       1,
       "0000000001000000001000000001000000010000010000100000000000000011000100000000000010000000100"
       "0000010010000000000000000000010000000000000000000000000000100000000000000100000000000101010"
       "0001000000000010000100000000000000000000001101000000000100100000001000",
       "0000000010000001000100000000000010000000010001000000010010000010000000001000000010000100000"
       "0000001000000001001100000010001100000000100010000000000000000000000000000000010000000000000"
       "0000000001100001001000001000011000100000000010001100000001110100000000",
       0.98813998319138818,
       0.80152811371442212,
       14,
       0.36363636363636365},
  };
  return all;
}

Mask mask_of(const std::string& digits) {
  Mask mask;
  for (const char digit : digits) mask.push_back(digit == '1' ? 1 : 0);
  return mask;
}

}  // namespace

TEST_CASE("surface Dice, mean distance, lesions: equal those of other programs", "[metrics]") {
  for (const Compared& given : compared()) {
    const Mask truth = mask_of(given.truth), predicted = mask_of(given.predicted);
    CHECK(std::abs(surface_dice(truth, predicted, given.grid, given.tolerance) - given.nsd) < 1e-9);
    CHECK(surface_dice(predicted, truth, given.grid, given.tolerance) ==
          Approx(given.nsd).epsilon(1e-12));
    const double assd = case_metric_entries().find("assd").rule.distance(
        surface_distances(truth, predicted, given.grid));
    CHECK(std::abs(assd - given.assd) < 1e-9);
    CHECK(connected_components(truth, given.grid).count == given.lesions);
    CHECK(std::abs(lesion_f1(truth, predicted, given.grid) - given.lesion_f1) < 1e-9);
  }
}

TEST_CASE("surface elements: every cell is as large as DeepMind's", "[metrics]") {
  const auto sum = [](const std::vector<double>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), 0.0);
  };
  const std::vector<double> plane = element_sizes({0.7, 1.9});
  REQUIRE(plane.size() == 16);
  CHECK(std::abs(sum(plane) - 17.34907403878995) < 1e-9);
  CHECK(plane[3] == Approx(1.9));
  CHECK(plane[5] == Approx(0.7));
  const std::vector<double> volume = element_sizes({3, 0.8, 1.1});
  REQUIRE(volume.size() == 256);
  CHECK(std::abs(sum(volume) - 569.4281871689379) < 1e-9);
  const std::vector<double> first = {0,
                                     0.52178180305565,
                                     0.52178180305565,
                                     1.7076592165886,
                                     0.52178180305565,
                                     1.2781236246936,
                                     1.0435636061113,
                                     2.0053454091669,
                                     0.52178180305565,
                                     1.0435636061113,
                                     1.2781236246936,
                                     2.0053454091669,
                                     1.7076592165886,
                                     2.0053454091669,
                                     2.0053454091669,
                                     0.88,
                                     0.52178180305565,
                                     2.0402205763103,
                                     1.0435636061113,
                                     3.2153454091669,
                                     1.0435636061113,
                                     2.7653454091669,
                                     1.5653454091669,
                                     3.1306908183339,
                                     1.0435636061113,
                                     2.562002379366,
                                     1.7999054277493,
                                     3.7462993127246,
                                     2.2294410196442,
                                     3.961067108672,
                                     2.5271272122226,
                                     2.0053454091669,
                                     0.52178180305565,
                                     1.0435636061113,
                                     2.0402205763103,
                                     3.2153454091669,
                                     1.0435636061113,
                                     1.7999054277493,
                                     2.562002379366,
                                     3.7462993127246,
                                     1.0435636061113,
                                     1.5653454091669,
                                     2.7653454091669,
                                     3.1306908183339,
                                     2.2294410196442,
                                     2.5271272122226,
                                     3.961067108672,
                                     2.0053454091669,
                                     1.7076592165886,
                                     3.2153454091669,
                                     3.2153454091669,
                                     3.3,
                                     2.2294410196442,
                                     3.5800186328637,
                                     3.7371272122226,
                                     3.2153454091669,
                                     2.2294410196442,
                                     3.7371272122226,
                                     3.5800186328637,
                                     3.2153454091669,
                                     3.4153184331772,
                                     2.2294410196442,
                                     2.2294410196442,
                                     1.7076592165886,
                                     0.52178180305565,
                                     1.0435636061113,
                                     1.0435636061113,
                                     2.2294410196442,
                                     2.0402205763103,
                                     2.7653454091669,
                                     2.562002379366,
                                     3.961067108672,
                                     1.0435636061113,
                                     1.5653454091669,
                                     1.7999054277493,
                                     2.5271272122226,
                                     3.2153454091669,
                                     3.1306908183339,
                                     3.7462993127246,
                                     2.0053454091669,
                                     1.2781236246936,
                                     2.7653454091669,
                                     1.7999054277493,
                                     3.5800186328637,
                                     2.7653454091669,
                                     2.4,
                                     3.2871272122226,
                                     2.7653454091669,
                                     1.7999054277493,
                                     3.2871272122226,
                                     2.5562472493873,
                                     1.7999054277493,
                                     3.5800186328637,
                                     2.7653454091669,
                                     1.7999054277493,
                                     1.2781236246936,
                                     1.0435636061113,
                                     1.5653454091669,
                                     2.562002379366,
                                     3.7371272122226,
                                     2.562002379366,
                                     3.2871272122226,
                                     4.0804411526206,
                                     2.562002379366,
                                     1.5653454091669,
                                     2.0871272122226,
                                     3.2871272122226,
                                     1.5653454091669,
                                     3.7371272122226,
                                     1.5653454091669,
                                     2.562002379366,
                                     1.0435636061113,
                                     2.0053454091669,
                                     3.1306908183339,
                                     3.7462993127246,
                                     3.2153454091669,
                                     3.961067108672,
                                     2.7653454091669,
                                     2.562002379366,
                                     2.0402205763103,
                                     2.5271272122226,
                                     1.5653454091669,
                                     1.7999054277493,
                                     1.0435636061113,
                                     2.2294410196442,
                                     1.0435636061113,
                                     1.0435636061113,
                                     0.52178180305565};
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(std::abs(volume[i] - first[i]) < 1e-12);
  CHECK(volume[255] == 0);
}

TEST_CASE("surface Dice: the same mask, masks far apart, and empty ones", "[metrics]") {
  const Grid grid{{4, 9}, {2, 0.5}};
  Mask left(36, 0), right(36, 0);
  left[0] = left[1] = 1;
  right[35] = 1;
  CHECK(surface_dice(left, left, grid, 0) == 1);
  CHECK(surface_dice(left, right, grid, 1) == 0);
  CHECK(surface_dice(left, right, grid, 100) == 1);
  CHECK(std::isnan(surface_dice(left, Mask(36, 0), grid, 1)));
  CHECK_THROWS_AS(surface_dice(left, Mask(35, 0), grid, 1), ShapeError);
  CHECK_THROWS_WITH(surface_dice(left, left, {{36}}, 1), Catch::Contains("grid of 1 axes"));
}

TEST_CASE("lesions: pixels are connected at corners too", "[metrics]") {
  const Grid grid{{3, 4}};
  const Components lesions = connected_components(mask_of("100001000001"), grid);
  CHECK(lesions.count == 2);
  CHECK(lesions.of_pixel == std::vector<std::int32_t>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2});
  // In a volume at the corners of voxels.
  CHECK(connected_components(mask_of("10000001"), {{2, 2, 2}}).count == 1);
  // The end of one row and the beginning of the next are apart.
  CHECK(connected_components(mask_of("000110000000"), grid).count == 2);
  CHECK(connected_components(Mask(12, 0), grid).count == 0);
}

TEST_CASE("lesions: one pixel finds a lesion, and one prediction may find two", "[metrics]") {
  const Grid grid{{1, 9}};
  // Found, found by the same prediction, missed; one false.
  CHECK(lesion_f1(mask_of("110100001"), mask_of("011101000"), grid) ==
        Approx(2.0 * 2 / (2 * 2 + 1 + 1)));
  CHECK(lesion_f1(mask_of("110000000"), mask_of("000000011"), grid) == 0);
  CHECK(std::isnan(lesion_f1(Mask(9, 0), Mask(9, 0), grid)));
}
