#include "data/volumes/orientation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace fovea::data {
namespace {

using Matrix = std::array<std::array<double, 3>, 3>;

// The direction of one axis of voxels.
struct Heading {
  std::size_t world = 0;  // right, front, up
  bool against = false;
};

// The inverse, transposed: cofactors over the determinant.
Matrix inverse_transposed(const Matrix& m, double& determinant) {
  Matrix cofactors;
  for (std::size_t r = 0; r < 3; ++r) {
    const std::size_t a = (r + 1) % 3, b = (r + 2) % 3;
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t d = (c + 1) % 3, e = (c + 2) % 3;
      cofactors[r][c] = m[a][d] * m[b][e] - m[a][e] * m[b][d];
    }
  }
  determinant = m[0][0] * cofactors[0][0] + m[0][1] * cofactors[0][1] + m[0][2] * cofactors[0][2];
  for (auto& row : cofactors) {
    for (double& value : row) value /= determinant;
  }
  return cofactors;
}

// The rotation (with or without a mirror) that lies closest: the orthogonal factor of the polar
// decomposition, by Newton's iteration X <- (X + X^-T) / 2, whose error is squared in every step.
// False for a matrix without inverse.
bool make_orthogonal(Matrix& x) {
  constexpr int kSteps = 100;
  constexpr double kSingular = 1e-12;  // determinant of columns of length 1
  for (int step = 0; step < kSteps; ++step) {
    double determinant = 0, change = 0;
    const Matrix other = inverse_transposed(x, determinant);
    if (!(std::abs(determinant) > kSingular)) return false;
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t c = 0; c < 3; ++c) {
        const double next = (x[r][c] + other[r][c]) / 2;
        change = std::max(change, std::abs(next - x[r][c]));
        x[r][c] = next;
      }
    }
    if (change < 1e-14) break;
  }
  return true;
}

// The world axes of i, j, k. The pair that is closest is assigned first; each world axis is used
// once.
std::array<Heading, 3> headings(const Affine& affine, std::string_view name) {
  Matrix m;
  bool good = true;
  for (std::size_t c = 0; c < 3; ++c) {
    const double length = std::hypot(affine[0][c], affine[1][c], affine[2][c]);
    good = good && std::isfinite(length) && length > 0 && std::isfinite(affine[c][3]);
    for (std::size_t r = 0; r < 3; ++r) m[r][c] = affine[r][c] / length;
  }
  if (!good || !make_orthogonal(m))
    throw FileError(fmt::format(
        "{}: its header does not say how its axes lie: the affine is not finite or has no "
        "inverse; expected one, or dataset.canonical=false",
        name));
  const auto largest = [&](std::size_t c) {
    return std::max({std::abs(m[0][c]), std::abs(m[1][c]), std::abs(m[2][c])});
  };
  const std::array<double, 3> most = {largest(0), largest(1), largest(2)};
  std::array<std::size_t, 3> order = {0, 1, 2};
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return most[a] > most[b]; });
  std::array<Heading, 3> result;
  std::array<bool, 3> taken = {};
  for (const std::size_t c : order) {
    std::size_t best = 3;
    for (std::size_t r = 0; r < 3; ++r) {
      if (!taken[r] && (best == 3 || std::abs(m[r][c]) > std::abs(m[best][c]))) best = r;
    }
    taken[best] = true;
    result[c] = {best, m[best][c] < 0};
  }
  return result;
}

// Calls `visit` with the place in the file of every voxel, in the order of the turned axes.
template <class Visit>
void each_turned(std::size_t maps, const VolumeSides& file, const Turn& turn, const Visit& visit) {
  const std::int64_t strides[3] = {file[1] * file[2], file[2], 1};
  const VolumeSides to = turned(file, turn);
  VolumeSides step;
  std::int64_t first = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t stride = strides[turn.from[axis]];
    step[axis] = turn.mirrored[axis] ? -stride : stride;
    if (turn.mirrored[axis]) first += (to[axis] - 1) * stride;
  }
  for (std::size_t map = 0; map < maps; ++map, first += file[0] * file[1] * file[2]) {
    for (std::int64_t d = 0; d < to[0]; ++d) {
      for (std::int64_t h = 0; h < to[1]; ++h) {
        const std::int64_t row = first + d * step[0] + h * step[1];
        for (std::int64_t w = 0; w < to[2]; ++w) visit(static_cast<std::size_t>(row + w * step[2]));
      }
    }
  }
}

std::size_t maps_in(std::size_t values, const VolumeSides& file) {
  return values / static_cast<std::size_t>(file[0] * file[1] * file[2]);
}

}  // namespace

std::string axis_codes(const Affine& affine, std::string_view name) {
  std::string codes;
  for (const Heading& axis : headings(affine, name))
    codes.push_back((axis.against ? "LPI" : "RAS")[axis.world]);
  return codes;
}

Turn turn_to_ras(const Affine& affine, std::string_view name) {
  const std::array<Heading, 3> axes = headings(affine, name);
  Turn turn;
  for (std::size_t c = 0; c < 3; ++c) {  // i is w, the last
    turn.from[2 - axes[c].world] = 2 - c;
    turn.mirrored[2 - axes[c].world] = axes[c].against;
  }
  return turn;
}

Affine turned(const Affine& affine, const VolumeSides& file, const Turn& turn) {
  Affine result = affine;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t from = 2 - turn.from[axis];
    const auto last = static_cast<double>(file[turn.from[axis]] - 1);
    for (std::size_t r = 0; r < 3; ++r) {
      result[r][2 - axis] = turn.mirrored[axis] ? -affine[r][from] : affine[r][from];
      if (turn.mirrored[axis]) result[r][3] += last * affine[r][from];
    }
  }
  return result;
}

template <class T>
std::vector<T> turned(std::span<const T> maps, const VolumeSides& file, const Turn& turn) {
  std::vector<T> result;
  result.reserve(maps.size());
  each_turned(maps_in(maps.size(), file), file, turn,
              [&](std::size_t at) { result.push_back(maps[at]); });
  return result;
}

template <class T>
std::vector<T> turned_back(std::span<const T> maps, const VolumeSides& file, const Turn& turn) {
  std::vector<T> result(maps.size());
  auto from = maps.begin();
  each_turned(maps_in(maps.size(), file), file, turn,
              [&](std::size_t at) { result[at] = *from++; });
  return result;
}

template std::vector<float> turned(std::span<const float>, const VolumeSides&, const Turn&);
template std::vector<std::uint8_t> turned(std::span<const std::uint8_t>, const VolumeSides&,
                                          const Turn&);
template std::vector<float> turned_back(std::span<const float>, const VolumeSides&, const Turn&);
template std::vector<std::uint8_t> turned_back(std::span<const std::uint8_t>, const VolumeSides&,
                                               const Turn&);

}  // namespace fovea::data
