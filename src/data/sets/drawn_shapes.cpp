#include "data/sets/drawn_shapes.h"

#include <algorithm>

namespace fovea::data {

const std::array<ShapeClass, 10> kShapes = {{
    {"disc", [](double y, double x) { return y * y + x * x <= 1.0; }},
    {"cross", [](double y, double x) { return std::min(std::abs(y), std::abs(x)) <= 0.3; }},
    {"frame", [](double y, double x) { return std::max(std::abs(y), std::abs(x)) >= 0.6; }},
    {"stripes", [](double y, double) { return std::abs(std::abs(y) - 0.65) <= 0.35; }},
    {"square", [](double, double) { return true; }},
    {"ring", [](double y, double x) { return std::abs(y * y + x * x - 0.7) <= 0.3; }},
    {"bars", [](double, double x) { return std::abs(std::abs(x) - 0.65) <= 0.35; }},
    {"triangle", [](double y, double x) { return 2.0 * std::abs(x) <= y + 1.0; }},
    {"diagonal", [](double y, double x) { return std::abs(y - x) <= 0.4; }},
    {"checker", [](double y, double x) { return (y < 0.0) == (x < 0.0); }},
}};

Drawn drawn_at(const RandomStream& draws, std::uint64_t first, std::int64_t height,
               std::int64_t width, double least, double more, std::size_t shape) {
  const double radius =
      static_cast<double>(std::min(height, width)) * (least + more * double{draws.uniform(first)});
  const auto centre = [&](std::uint64_t draw, std::int64_t side) {
    return radius + (static_cast<double>(side) - 2.0 * radius) * double{draws.uniform(draw)};
  };
  return {centre(first + 1, height), centre(first + 2, width), radius, shape};
}

}  // namespace fovea::data
