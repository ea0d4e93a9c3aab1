#include "visualise/drawing/heatmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace fovea::visualise {
namespace {

void check_matrix(const Matrix& m, std::string_view what) {
  FOVEA_CHECK(m.rows >= 1 && m.cols >= 1 && std::ssize(m.values) == m.rows * m.cols, ShapeError,
              fmt::format("{}: matrix is ({}, {}) with {} values; expected at least (1, 1)", what,
                          m.rows, m.cols, m.values.size()));
}

template <class Function>
Matrix transformed(const Matrix& m, Function function) {
  Matrix result = m;
  std::transform(m.values.begin(), m.values.end(), result.values.begin(), function);
  return result;
}

// Two neighbours of a source position and their weights.
struct Tap {
  std::int64_t lower, upper;
  double of_lower, of_upper;
};

// As PyTorch's kernel rounds, to the last bit: scores that rank the pixels of an enlarged map
// depend on which of them are exactly equal. It takes the floor in single precision, and at the far
// edge both neighbours are the same one.
Tap tap(std::int64_t target, std::int64_t source_size, std::int64_t target_size) {
  const double ratio = static_cast<double>(source_size) / static_cast<double>(target_size);
  const double position = std::max(std::fma(ratio, static_cast<double>(target) + 0.5, -0.5), 0.0);
  const auto floor = static_cast<std::int64_t>(std::floor(static_cast<float>(position)));
  const std::int64_t lower = std::min(floor, source_size - 1);
  const double fraction = std::clamp(position - static_cast<double>(lower), 0.0, 1.0);
  return {lower, std::min(lower + 1, source_size - 1), 1 - fraction, fraction};
}

constexpr double kFlat = 1e-12;

}  // namespace

Matrix as_grid(std::span<const double> weights, std::int64_t rows, std::int64_t cols) {
  FOVEA_CHECK(rows >= 1 && cols >= 1 && std::ssize(weights) == rows * cols, ShapeError,
              fmt::format("heatmap: {} weights for a {} x {} grid; expected {}", weights.size(),
                          rows, cols, rows * cols));
  return {rows, cols, {weights.begin(), weights.end()}};
}

Matrix patch_grid(std::span<const double> weights, std::int64_t height, std::int64_t width,
                  std::int64_t patch) {
  FOVEA_CHECK(height == width, ShapeError,
              fmt::format("heatmap: image is {} x {}; expected a square image", height, width));
  FOVEA_CHECK(patch >= 1 && height % patch == 0, ShapeError,
              fmt::format("heatmap: image side {} is not divisible by patch {}", height, patch));
  return as_grid(weights, height / patch, width / patch);
}

namespace {

// Room for what a grid is drawn into.
Matrix target_of(const Matrix& grid, std::int64_t height, std::int64_t width) {
  check_matrix(grid, "heatmap");
  FOVEA_CHECK(height >= 1 && width >= 1, ShapeError,
              fmt::format("heatmap: target size {} x {}; expected at least 1 x 1", height, width));
  Matrix result{height, width, {}};
  result.values.reserve(static_cast<std::size_t>(height * width));
  return result;
}

}  // namespace

Matrix upsample_bilinear(const Matrix& grid, std::int64_t height, std::int64_t width) {
  Matrix result = target_of(grid, height, width);
  for (std::int64_t y = 0; y < height; ++y) {
    const Tap v = tap(y, grid.rows, height);
    for (std::int64_t x = 0; x < width; ++x) {
      const Tap h = tap(x, grid.cols, width);
      double sum = v.of_lower * h.of_upper * grid.at(v.lower, h.upper);
      sum = std::fma(v.of_lower * h.of_lower, grid.at(v.lower, h.lower), sum);
      sum = std::fma(v.of_upper * h.of_lower, grid.at(v.upper, h.lower), sum);
      result.values.push_back(std::fma(v.of_upper * h.of_upper, grid.at(v.upper, h.upper), sum));
    }
  }
  return result;
}

Matrix heat_map(const Matrix& grid, std::int64_t height, std::int64_t width, bool smooth) {
  if (smooth) return upsample_bilinear(grid, height, width);
  Matrix result = target_of(grid, height, width);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x)
      result.values.push_back(grid.at(y * grid.rows / height, x * grid.cols / width));
  }
  return result;
}

Matrix scale_minmax(const Matrix& values) {
  check_matrix(values, "heatmap");
  // fmin and fmax pass over NaN, which stays NaN and is drawn as missing.
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double v : values.values) {
    low = std::fmin(low, v);
    high = std::fmax(high, v);
  }
  const double range = high - low;
  return transformed(values, [&](double v) { return range < kFlat ? 0.0 : (v - low) / range; });
}

Matrix scale_symmetric(const Matrix& values) {
  check_matrix(values, "heatmap");
  double largest = 0;
  for (const double v : values.values) largest = std::fmax(largest, std::abs(v));
  return transformed(values,
                     [&](double v) { return largest < kFlat ? 0.5 : v / (2 * largest) + 0.5; });
}

Matrix scale_between(const Matrix& values, double low, double high) {
  check_matrix(values, "heatmap");
  FOVEA_CHECK(low < high, ConfigError,
              fmt::format("heatmap: colours from {} to {}; expected low < high", low, high));
  return transformed(values,
                     [&](double v) { return std::clamp((v - low) / (high - low), 0.0, 1.0); });
}

Canvas colourise(const Matrix& values, ColourMap map) {
  check_matrix(values, "heatmap");
  Canvas canvas(values.cols, values.rows);
  for (std::int64_t y = 0; y < values.rows; ++y) {
    for (std::int64_t x = 0; x < values.cols; ++x)
      canvas.set(x, y, colour_of(map, values.at(y, x)));
  }
  return canvas;
}

Canvas enlarge(const Canvas& image, std::int64_t factor) {
  FOVEA_CHECK(factor >= 1, ConfigError,
              fmt::format("heatmap: enlargement is {}; expected an integer >= 1", factor));
  Canvas result(image.width * factor, image.height * factor);
  for (std::int64_t y = 0; y < result.height; ++y) {
    for (std::int64_t x = 0; x < result.width; ++x) {
      result.set(x, y, image.at(x / factor, y / factor));
    }
  }
  return result;
}

Canvas overlay(const Canvas& map, const Canvas& image, double image_weight) {
  FOVEA_CHECK(map.width == image.width && map.height == image.height, ShapeError,
              fmt::format("heatmap: map is {} x {}, image {} x {}; expected the same size",
                          map.width, map.height, image.width, image.height));
  FOVEA_CHECK(image_weight >= 0 && image_weight <= 1, ConfigError,
              fmt::format("heatmap: overlay is {}; expected a number in [0, 1]", image_weight));
  Canvas result = map;
  for (std::size_t i = 0; i < result.rgb.size(); ++i) {
    const double mixed = (1 - image_weight) * map.rgb[i] + image_weight * image.rgb[i];
    result.rgb[i] = static_cast<std::uint8_t>(std::floor(mixed + 0.5));
  }
  return result;
}

}  // namespace fovea::visualise
