// Axes of volumes: their letters, turning to RAS+ and back.
#include "data/volumes/orientation.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

using namespace fovea;
using namespace fovea::data;

namespace {

constexpr VolumeSides kSides = {2, 3, 4};  // k, j, i

std::vector<float> counted(std::size_t maps = 1) {
  std::vector<float> values(maps * 24);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

// Steps of 2, 3 and 5 mm along i, j, k towards the axes that `codes` names, turned by up to
// `degrees`.
Affine affine_of(const std::string& codes, double degrees = 0) {
  const double steps[] = {2, 3, 5};
  Affine affine = {};
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t plus = std::string("RAS").find(codes[c]);
    const std::size_t minus = std::string("LPI").find(codes[c]);
    affine[plus < 3 ? plus : minus][c] = plus < 3 ? steps[c] : -steps[c];
  }
  const double angle = degrees / 180 * 3.14159265358979, s = std::sin(angle), t = std::cos(angle);
  for (std::size_t c = 0; c < 3; ++c) {  // about z, then about x
    const double x = affine[0][c], y = affine[1][c], z = affine[2][c];
    affine[0][c] = t * x - s * y;
    affine[1][c] = t * (s * x + t * y) - s * z;
    affine[2][c] = s * (s * x + t * y) + t * z;
  }
  for (std::size_t r = 0; r < 3; ++r) affine[r][3] = 10.0 * static_cast<double>(r + 1);
  return affine;
}

std::vector<std::string> all_codes() {
  std::vector<std::string> all;
  std::array<int, 3> world = {0, 1, 2};
  do {
    for (int signs = 0; signs < 8; ++signs) {
      std::string codes;
      for (std::size_t c = 0; c < 3; ++c)
        codes.push_back((signs >> c & 1 ? "LPI" : "RAS")[world[c]]);
      all.push_back(codes);
    }
  } while (std::next_permutation(world.begin(), world.end()));
  return all;
}

// Where the world has voxel (k, j, i).
std::array<double, 3> place(const Affine& a, const VolumeSides& voxel) {
  std::array<double, 3> at;
  for (std::size_t r = 0; r < 3; ++r)
    at[r] = a[r][0] * static_cast<double>(voxel[2]) + a[r][1] * static_cast<double>(voxel[1]) +
            a[r][2] * static_cast<double>(voxel[0]) + a[r][3];
  return at;
}

}  // namespace

TEST_CASE("orientation: all 48 ways that axes can lie are named and turned to RAS+", "[data]") {
  for (const std::string& codes : all_codes()) {
    INFO(codes);
    for (const double degrees : {0.0, 25.0}) {
      const Affine affine = affine_of(codes, degrees);
      CHECK(axis_codes(affine, "a") == codes);
      const Turn turn = turn_to_ras(affine, "a");
      CHECK((turn == Turn()) == (codes == "RAS"));
      const Affine to = turned(affine, kSides, turn);
      CHECK(axis_codes(to, "a") == "RAS");
      // A voxel stays where it is in the world.
      const std::vector<float> values = counted();
      const std::vector<float> moved = turned(std::span<const float>(values), kSides, turn);
      const VolumeSides sides = turned(kSides, turn);
      for (std::int64_t v = 0; v < 24; ++v) {
        const auto old = static_cast<std::int64_t>(moved[static_cast<std::size_t>(v)]);
        const auto now =
            place(to, {v / (sides[1] * sides[2]), v / sides[2] % sides[1], v % sides[2]});
        const auto before = place(affine, {old / 12, old / 4 % 3, old % 4});
        for (std::size_t r = 0; r < 3; ++r) CHECK(now[r] == Approx(before[r]).margin(1e-9));
      }
      CHECK(turned_back(std::span<const float>(moved), kSides, turn) == values);
    }
  }
}

TEST_CASE("orientation: maps are turned one by one", "[data]") {
  const Turn turn = turn_to_ras(affine_of("SLP"), "a");
  const std::vector<float> both = counted(2);
  const auto moved = turned(std::span<const float>(both), kSides, turn);
  const auto first = turned(std::span<const float>(both).first(24), kSides, turn);
  CHECK(std::equal(first.begin(), first.end(), moved.begin()));
  for (std::size_t i = 0; i < 24; ++i) CHECK(moved[24 + i] == moved[i] + 24);
  CHECK(turned_back(std::span<const float>(moved), kSides, turn) == both);
}

TEST_CASE("orientation: axes that are slanted go to the closest, each of the world's once",
          "[data]") {
  // Both i and j lie closest to x; i more so. Steps do not matter, directions do.
  const Affine slanted = {{{0.9, 8, 0, 0}, {0.1, 7, 0, 0}, {0, 0, -1, 0}}};
  CHECK(axis_codes(slanted, "a") == "RAI");
  const Affine other = {{{7, 0.9, 0, 0}, {8, -0.1, 0, 0}, {0, 0, 1, 0}}};
  CHECK(axis_codes(other, "a") == "ARS");
}

TEST_CASE("orientation: an affine that says nothing is refused", "[data]") {
  const Affine good = affine_of("RAS");
  Affine flat = good, endless = good, nowhere = good;
  flat[2][2] = 0;
  endless[0][0] = std::numeric_limits<double>::infinity();
  nowhere[1][3] = std::nan("");
  for (const Affine& bad : {flat, endless, nowhere}) {
    CHECK_THROWS_AS(turn_to_ras(bad, "x.nii"), FileError);
    CHECK_THROWS_WITH(axis_codes(bad, "x.nii"), Catch::StartsWith("x.nii: "));
  }
}
