// The shapes of generated pictures.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "tensor/random.h"

namespace fovea::data {

/// Whether a point (y, x) in units of the radius, y downwards, lies on a shape.
struct ShapeClass {
  std::string_view name;
  bool (*covers)(double y, double x);
};
extern const std::array<ShapeClass, 10> kShapes;

/// A shape in a picture; in pixels.
struct Drawn {
  double top = 0, left = 0, radius = 0;  // of the centre
  std::size_t shape = 0;

  bool covers(std::int64_t i, std::int64_t j) const {
    const double y = (static_cast<double>(i) + 0.5 - top) / radius;
    const double x = (static_cast<double>(j) + 0.5 - left) / radius;
    return std::abs(y) <= 1.0 && std::abs(x) <= 1.0 && kShapes[shape].covers(y, x);
  }
};

/// Inside a picture of height x width, by draws first, first + 1, first + 2: of a radius of least
/// to least + more of its shorter side.
Drawn drawn_at(const RandomStream& draws, std::uint64_t first, std::int64_t height,
               std::int64_t width, double least, double more, std::size_t shape);

}  // namespace fovea::data
