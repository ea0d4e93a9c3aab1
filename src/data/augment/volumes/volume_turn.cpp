#include "data/augment/volumes/volume_turn.h"

#include <algorithm>
#include <cmath>

namespace fovea::data {

bool turns_in_plane(const VolumeSides& size) {
  constexpr double kFlat = 3;
  return static_cast<double>(std::max(size[1], size[2])) > kFlat * static_cast<double>(size[0]);
}

// batchgenerators' get_patch_size: the furthest that a corner gets by one of the turns.
VolumeSides margin_size(const VolumeSides& size) {
  const bool plane = turns_in_plane(size);
  std::array<double, 3> corner, furthest;
  for (std::size_t axis = 0; axis < 3; ++axis)
    corner[axis] = furthest[axis] = static_cast<double>(size[axis]);
  for (std::size_t about = 0; about < 3; ++about) {
    if (plane && about > 0) continue;
    const CropMatrix turn = rotation(about, plane ? std::numbers::pi / 2 : kMaxTurn);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double at =
          turn[axis][0] * corner[0] + turn[axis][1] * corner[1] + turn[axis][2] * corner[2];
      furthest[axis] = std::max(furthest[axis], std::abs(at));
    }
  }
  VolumeSides result;
  for (std::size_t axis = 0; axis < 3; ++axis)
    result[axis] = plane && axis == 0
                       ? size[0]
                       : static_cast<std::int64_t>(std::ceil(furthest[axis] / kLeastScale));
  return result;
}

CropMatrix rotation(std::size_t axis, double angle) {
  CropMatrix m{};
  const std::size_t a = (axis + 1) % 3, b = (axis + 2) % 3;
  m[axis][axis] = 1;
  m[a][a] = m[b][b] = std::cos(angle);
  m[a][b] = -std::sin(angle);
  m[b][a] = std::sin(angle);
  return m;
}

CropMatrix product(const CropMatrix& a, const CropMatrix& b) {
  CropMatrix c{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

}  // namespace fovea::data
