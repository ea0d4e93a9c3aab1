#include "metrics/masks/surface.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "tensor/random.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::metrics;

namespace {

using Mask = std::vector<std::uint8_t>;

Mask random_mask(const Grid& grid, double share, std::uint64_t seed) {
  const RandomStream random(seed);
  Mask mask;
  for (std::int64_t i = 0; i < grid.pixels(); ++i)
    mask.push_back(random.below(1000, static_cast<std::uint64_t>(i)) <
                           static_cast<std::int64_t>(1000 * share)
                       ? 1
                       : 0);
  return mask;
}

// By every pair of pixels.
double squared_apart(std::int64_t i, std::int64_t j, const Grid& grid) {
  double squared = 0;
  for (std::size_t axis = grid.size.size(); axis-- > 0;) {
    const auto apart = static_cast<double>(i % grid.size[axis] - j % grid.size[axis]);
    squared += apart * apart * grid.step(axis) * grid.step(axis);
    i /= grid.size[axis];
    j /= grid.size[axis];
  }
  return squared;
}

std::vector<double> by_brute_force(const Mask& mask, const Grid& grid) {
  std::vector<double> squared;
  for (std::int64_t i = 0; i < grid.pixels(); ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < grid.pixels(); ++j)
      if (mask[static_cast<std::size_t>(j)] != 0)
        least = std::min(least, squared_apart(i, j, grid));
    squared.push_back(least);
  }
  return squared;
}

// Rows and columns from 0, both ends included.
Mask box(std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right) {
  Mask mask;
  for (std::int64_t row = 0; row < 8; ++row)
    for (std::int64_t column = 0; column < 8; ++column)
      mask.push_back(row >= top && row <= bottom && column >= left && column <= right ? 1 : 0);
  return mask;
}

const Grid kEight{{8, 8}};

}  // namespace

TEST_CASE("squared_distances: as by every pair of pixels, in lines, planes and volumes",
          "[metrics]") {
  const auto grid = GENERATE(values<Grid>({{{17}},
                                           {{13, 9}},
                                           {{1, 30}},
                                           {{5, 7, 6}},
                                           {{2, 3, 4, 5}},
                                           {{12, 10}, {0.7, 2.5}},
                                           {{4, 7, 6}, {2.5, 1, 1.25}}}));
  const double share = GENERATE(0.02, 0.2, 0.9);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    INFO("axes " << grid.size.size() << ", share " << share << ", seed " << seed);
    const Mask mask = random_mask(grid, share, seed);
    const std::vector<double> squared = squared_distances(mask, grid);
    const std::vector<double> expected = by_brute_force(mask, grid);
    REQUIRE(squared.size() == expected.size());
    // Whole numbers of pixels are exact.
    for (std::size_t i = 0; i < squared.size(); ++i) {
      if (grid.spacing.empty() || std::isinf(expected[i])) {
        CHECK(squared[i] == expected[i]);
      } else {
        CHECK(squared[i] == Approx(expected[i]).epsilon(1e-12).margin(1e-12));
      }
    }
  }
}

TEST_CASE("squared_distances: grids that do not fit are refused", "[metrics]") {
  const Mask mask(6, 1);
  CHECK_THROWS_WITH(squared_distances(mask, {{2, 4}}), "grid: 8 pixels, 6 values");
  CHECK_THROWS_WITH(squared_distances(mask, {{2, 3}, {1}}), "grid: 2 axes, 1 spacings");
  CHECK_THROWS_WITH(squared_distances(mask, {{2, 3}, {1, 0}}),
                    "grid: spacing is 0; expected above 0");
  CHECK(squared_distances({}, {{0, 3}}).empty());
}

// gdla 7.
TEST_CASE("hd95, hausdorff: the paper's examples", "[metrics]") {
  const Mask square = box(1, 4, 1, 4), moved = box(2, 5, 3, 6);
  const auto count = [](const Mask& mask) { return std::count(mask.begin(), mask.end(), 1); };
  CHECK(count(border_of(square, kEight)) == 12);
  CHECK(count(border_of(moved, kEight)) == 12);
  CHECK(hd95(square, moved, kEight) == Approx(2.200657780874821).epsilon(1e-14));
  CHECK(hausdorff(square, moved, kEight) == Approx(2.236067977499790).epsilon(1e-14));
  const Mask pixel = box(0, 0, 0, 0);
  CHECK(hd95(pixel, moved, kEight) == Approx(7.450761400919448).epsilon(1e-14));
  CHECK(hausdorff(pixel, moved, kEight) == Approx(7.810249675906654).epsilon(1e-14));
  const Mask edge = box(0, 2, 0, 7);
  CHECK(hd95(edge, square, kEight) == Approx(3.0).epsilon(1e-14));
  CHECK(hausdorff(edge, square, kEight) == Approx(3.162277660168380).epsilon(1e-14));
}

TEST_CASE("surface_distances: both directions, as by every pair of border pixels", "[metrics]") {
  const auto grid = GENERATE(values<Grid>({{{12, 9}}, {{5, 6, 7}, {2.5, 1, 1.25}}}));
  const Mask a = random_mask(grid, 0.3, 1), b = random_mask(grid, 0.6, 2);
  const Mask of_a = border_of(a, grid), of_b = border_of(b, grid);
  std::vector<double> expected;
  for (const auto& [from, to] : {std::pair(of_a, of_b), std::pair(of_b, of_a)}) {
    const std::vector<double> squared = by_brute_force(to, grid);
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] != 0) expected.push_back(std::sqrt(squared[i]));
  }
  const std::vector<double> distances = surface_distances(a, b, grid);
  REQUIRE(distances.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(distances[i] == Approx(expected[i]));
  CHECK(hd95(a, b, grid) == Approx(hd95(b, a, grid)));
  CHECK(hd95(a, a, grid) == 0);
}

TEST_CASE("hd95: without a mask there is no distance", "[metrics]") {
  const Mask nothing(64, 0), some = box(1, 2, 1, 2);
  CHECK(std::isnan(hd95(nothing, some, kEight)));
  CHECK(std::isnan(hd95(some, nothing, kEight)));
  CHECK(std::isnan(hausdorff(nothing, nothing, kEight)));
  CHECK(surface_distances(nothing, some, kEight).empty());
}

TEST_CASE("quantile: linear between ranks", "[metrics]") {
  CHECK(quantile({3, 1, 2, 4}, 0.5) == 2.5);
  CHECK(quantile({3, 1, 2, 4}, 0.95) == Approx(3.85));
  CHECK(quantile({3, 1, 2, 4}, 1) == 4);
  CHECK(quantile({3, 1, 2, 4}, 0) == 1);
  CHECK(quantile({7}, 0.95) == 7);
  CHECK(std::isnan(quantile({}, 0.95)));
}

// Lines "axes, sizes, spacing, two masks as 0 and 1, HD95": planes and anisotropic volumes, some
// masks empty. The distances are scipy's (distance_transform_edt, binary_erosion, percentile), and
// medpy's.
TEST_CASE("hd95: as scipy and medpy for random planes and volumes", "[metrics][fixture]") {
  const auto path = io::fs::path(fovea::test::source_dir()) / "tests/fixtures/hd95/scipy_pairs.txt";
  std::istringstream lines(io::read_text(path));
  int pairs = 0, undefined = 0;
  for (std::string line; std::getline(lines, line); ++pairs) {
    std::istringstream words(line);
    std::size_t axes = 0;
    words >> axes;
    Grid grid{std::vector<std::int64_t>(axes), std::vector<double>(axes)};
    for (std::int64_t& size : grid.size) words >> size;
    for (double& step : grid.spacing) words >> step;
    std::string a, b, expected;
    words >> a >> b >> expected;
    const auto mask = [](const std::string& text) {
      Mask inside;
      for (const char pixel : text) inside.push_back(pixel == '1' ? 1 : 0);
      return inside;
    };
    INFO(line);
    const double distance = hd95(mask(a), mask(b), grid);
    if (expected == "nan") {
      CHECK(std::isnan(distance));
      ++undefined;
    } else {
      CHECK(distance == Approx(std::stod(expected)).epsilon(1e-12));
    }
  }
  CHECK(pairs == 60);
  CHECK(undefined == 12);
}
