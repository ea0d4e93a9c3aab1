#include "data/augment/zoom.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "data/augment/geometry.h"

namespace fovea::data {
namespace {

void check_zoom(Planes from, Planes to) {
  FOVEA_CHECK(from.channels == to.channels && from.plane() > 0, ShapeError,
              fmt::format("zoom: {} channels of {} x {} to {} channels", from.channels, from.height,
                          from.width, to.channels));
}

// Where the outputs of an axis lie among its inputs.
std::vector<double> places(std::int64_t in, std::int64_t out) {
  const double step = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
  std::vector<double> result;
  for (std::int64_t o = 0; o < out; ++o)
    result.push_back(std::min(step * static_cast<double>(o), static_cast<double>(in - 1)));
  return result;
}

// Samples to coefficients of a cubic B-spline, in place: one recursive filter in each direction
// (Unser, "Splines: a perfect fit for signal and image processing", 1999).
void to_coefficients(std::vector<double>& c) {
  const std::size_t n = c.size();
  if (n < 2) return;
  const double pole = std::sqrt(3.0) - 2;
  const double gain = (1 - pole) * (1 - 1 / pole);
  for (double& value : c) value *= gain;
  const double last = std::pow(pole, static_cast<double>(n - 1));
  double power = pole;
  c[0] += last * c[n - 1];
  for (std::size_t i = 1; i + 1 < n; ++i) {
    c[0] += power * (c[i] + last * c[n - 1 - i]);
    power *= pole;
  }
  c[0] /= 1 - last * last;
  for (std::size_t i = 1; i < n; ++i) c[i] += pole * c[i - 1];
  c[n - 1] = (pole * c[n - 2] + c[n - 1]) * pole / (pole * pole - 1);
  for (std::size_t i = n - 1; i-- > 0;) c[i] = pole * (c[i + 1] - c[i]);
}

// The four coefficients around a place, mirrored at the ends, and their weights.
struct SplineTap {
  std::array<std::size_t, 4> at{};
  std::array<double, 4> weight{};
};

std::vector<SplineTap> spline_taps(std::int64_t in, std::int64_t out) {
  std::vector<SplineTap> result;
  for (const double place : places(in, out)) {
    SplineTap tap;
    const auto first = static_cast<std::int64_t>(place);
    for (std::size_t k = 0; k < 4; ++k) {
      std::int64_t at = std::abs(first - 1 + static_cast<std::int64_t>(k));
      if (at > in - 1) at = 2 * (in - 1) - at;
      tap.at[k] = static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, in - 1));
    }
    const double t = place - static_cast<double>(first);
    const double s = 1 - t;
    tap.weight = {s * s * s / 6, (t * t * (t - 2) * 3 + 4) / 6, (s * s * (s - 2) * 3 + 4) / 6,
                  t * t * t / 6};
    result.push_back(tap);
  }
  return result;
}

// One axis of rows x n values, n along the inner axis, to n x rows: two calls zoom a plane.
std::vector<double> zoom_axis(const std::vector<double>& values, std::int64_t n, std::int64_t out) {
  const auto length = static_cast<std::size_t>(n);
  const std::size_t rows = values.size() / length;
  const std::vector<SplineTap> taps = spline_taps(n, out);
  std::vector<double> result(rows * taps.size());
  std::vector<double> row(length);
  for (std::size_t r = 0; r < rows; ++r) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(r * length), length, row.begin());
    to_coefficients(row);
    for (std::size_t o = 0; o < taps.size(); ++o) {
      double sum = 0;
      for (std::size_t k = 0; k < 4; ++k) sum += taps[o].weight[k] * row[taps[o].at[k]];
      result[o * rows + r] = sum;
    }
  }
  return result;
}

}  // namespace

void zoom_spline(Planes from, Planes to) {
  check_zoom(from, to);
  for (std::int64_t c = 0; c < to.channels; ++c) {
    const std::vector<double> plane(from.channel(c), from.channel(c) + from.plane());
    const std::vector<double> wide = zoom_axis(plane, from.width, to.width);
    const std::vector<double> zoomed = zoom_axis(wide, from.height, to.height);
    std::transform(zoomed.begin(), zoomed.end(), to.channel(c),
                   [](double value) { return static_cast<float>(value); });
  }
}

void zoom_nearest(Planes from, Planes to) {
  check_zoom(from, to);
  const std::vector<double> rows = places(from.height, to.height);
  const std::vector<double> columns = places(from.width, to.width);
  for (std::int64_t c = 0; c < to.channels; ++c) {
    float* out = to.channel(c);
    for (const double row : rows) {
      const float* line =
          from.channel(c) + static_cast<std::int64_t>(std::floor(row + 0.5)) * from.width;
      for (const double column : columns)
        *out++ = line[static_cast<std::int64_t>(std::floor(column + 0.5))];
    }
  }
}

void rotate_nearest(Planes x, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  const double bottom = static_cast<double>(x.height - 1);
  const double right = static_cast<double>(x.width - 1);
  // As scipy adds it up: the offset first, then row and column.
  const double offset_row = bottom / 2 - (cosine * (bottom / 2) + sine * (right / 2));
  const double offset_column = right / 2 - (-sine * (bottom / 2) + cosine * (right / 2));
  std::vector<float> turned(static_cast<std::size_t>(x.size()), 0.0f);
  for (std::int64_t i = 0; i < x.height; ++i) {
    for (std::int64_t j = 0; j < x.width; ++j) {
      const auto u = static_cast<double>(i);
      const auto v = static_cast<double>(j);
      const double row = offset_row + u * cosine + v * sine;
      const double column = offset_column - u * sine + v * cosine;
      if (row < 0 || row > bottom || column < 0 || column > right) continue;
      const auto from = static_cast<std::int64_t>(std::floor(row + 0.5)) * x.width +
                        static_cast<std::int64_t>(std::floor(column + 0.5));
      for (std::int64_t c = 0; c < x.channels; ++c)
        turned[static_cast<std::size_t>(c * x.plane() + i * x.width + j)] = x.channel(c)[from];
    }
  }
  std::copy(turned.begin(), turned.end(), x.data);
}

Planes rot90(Planes x, std::int64_t turns) {
  turns = ((turns % 4) + 4) % 4;
  if (turns >= 2) {
    flip_horizontally(x);
    flip_vertically(x);
  }
  if (turns % 2 == 0) return x;
  // Row i of the result is column width - 1 - i.
  std::vector<float> turned(static_cast<std::size_t>(x.size()));
  auto out = turned.begin();
  for (std::int64_t c = 0; c < x.channels; ++c) {
    for (std::int64_t j = x.width; j-- > 0;) {
      for (std::int64_t i = 0; i < x.height; ++i) *out++ = x.channel(c)[i * x.width + j];
    }
  }
  std::copy(turned.begin(), turned.end(), x.data);
  return {x.channels, x.width, x.height, x.data};
}

}  // namespace fovea::data
