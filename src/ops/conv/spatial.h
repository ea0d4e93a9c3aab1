// Parameters of operations over spatial axes: one number per axis, or one for all of them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "ops/conv/convolution.h"

namespace fovea::ops {

/// Throws ShapeError unless x is (b, c, spatial...) with one to three spatial axes that are not
/// empty. Returns their number.
inline int check_spatial(const char* op, const Tensor& x) {
  FOVEA_CHECK(x.rank() >= 3 && x.rank() <= 5, ShapeError,
              fmt::format("{}: x is {}; expected (b, c, spatial...) with 1 to 3 spatial axes", op,
                          to_string(x.shape())));
  for (int axis = 1; axis < x.rank(); ++axis) {
    FOVEA_CHECK(x.size(axis) > 0, ShapeError,
                fmt::format("{}: axis {} of x {} is empty", op, axis, to_string(x.shape())));
  }
  return x.rank() - 2;
}

/// One value for each of `axes`. Throws ShapeError for another count or a value below `least`.
inline Sizes per_axis(const char* op, const char* what, const Sizes& given, int axes,
                      std::int64_t least) {
  const auto wanted = static_cast<std::size_t>(axes);
  FOVEA_CHECK(given.size() == 1 || given.size() == wanted, ShapeError,
              fmt::format("{}: {} is ({}); expected 1 or {} numbers", op, what,
                          fmt::join(given, ", "), axes));
  for (const std::int64_t value : given) {
    FOVEA_CHECK(value >= least, ShapeError,
                fmt::format("{}: {} is {}; expected at least {}", op, what, value, least));
  }
  return given.size() == wanted ? given : Sizes(wanted, given.front());
}

}  // namespace fovea::ops
