#include "explain/scores/impute_linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace fovea::explain {
namespace {

using Values = std::vector<double>;

// The system A u = b of the removed pixels; A is symmetric and, where a pixel is kept, positive
// definite. Rows hold at most eight neighbours.
struct NeighbourSystem {
  std::vector<std::size_t> pixels;  // of the unknowns
  Values diagonal;
  std::vector<std::size_t> begin;   // of the row in the two lists below; one more than rows
  std::vector<std::size_t> column;  // unknowns
  Values weight;
  std::vector<std::size_t> known_begin, known;  // kept pixels beside the unknown
  Values known_weight;

  std::size_t size() const { return pixels.size(); }
  Values times(const Values& u) const {
    Values result(size());
    for (std::size_t i = 0; i < size(); ++i) {
      double sum = diagonal[i] * u[i];
      for (std::size_t k = begin[i]; k < begin[i + 1]; ++k) sum -= weight[k] * u[column[k]];
      result[i] = sum;
    }
    return result;
  }
};

NeighbourSystem system_of(std::span<const std::uint8_t> removed, std::int64_t height,
                          std::int64_t width) {
  NeighbourSystem s;
  std::vector<std::size_t> unknown(removed.size(), 0);
  for (std::size_t p = 0; p < removed.size(); ++p) {
    if (removed[p] == 0) continue;
    unknown[p] = s.pixels.size();
    s.pixels.push_back(p);
  }
  s.begin.push_back(0);
  s.known_begin.push_back(0);
  for (const std::size_t p : s.pixels) {
    const auto y = static_cast<std::int64_t>(p) / width, x = static_cast<std::int64_t>(p) % width;
    double sum = 0;
    for (std::int64_t dy = -1; dy <= 1; ++dy) {
      for (std::int64_t dx = -1; dx <= 1; ++dx) {
        const bool inside = y + dy >= 0 && y + dy < height && x + dx >= 0 && x + dx < width;
        if (!inside || (dy == 0 && dx == 0)) continue;
        const double w = dy == 0 || dx == 0 ? 1.0 / 6 : 1.0 / 12;
        const auto other = static_cast<std::size_t>((y + dy) * width + x + dx);
        sum += w;
        if (removed[other] != 0) {
          s.column.push_back(unknown[other]);
          s.weight.push_back(w);
        } else {
          s.known.push_back(other);
          s.known_weight.push_back(w);
        }
      }
    }
    s.diagonal.push_back(sum);
    s.begin.push_back(s.column.size());
    s.known_begin.push_back(s.known.size());
  }
  return s;
}

double product(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Conjugate gradients with the diagonal as preconditioner, to 1e-12 of the right side.
Values solved(const NeighbourSystem& s, const Values& right) {
  Values u(s.size(), 0.0), residual = right, direction(s.size()), scaled(s.size());
  const double enough = 1e-24 * product(right, right);
  double before = 0;
  // In exact arithmetic as many steps as unknowns are enough; rounding may ask for more.
  for (std::size_t step = 0; step < 2 * s.size() + 20; ++step) {
    if (product(residual, residual) <= enough) break;
    for (std::size_t i = 0; i < s.size(); ++i) scaled[i] = residual[i] / s.diagonal[i];
    const double now = product(residual, scaled);
    for (std::size_t i = 0; i < s.size(); ++i)
      direction[i] = scaled[i] + (step == 0 ? 0 : now / before) * direction[i];
    const Values image = s.times(direction);
    const double along = now / product(direction, image);
    for (std::size_t i = 0; i < s.size(); ++i) {
      u[i] += along * direction[i];
      residual[i] -= along * image[i];
    }
    before = now;
  }
  return u;
}

// Kept pixels count from their mean, so that a constant image has a right side of 0 and comes back
// exactly.
void impute_channel(const NeighbourSystem& s, std::span<float> channel) {
  if (s.known.empty()) {
    for (const std::size_t p : s.pixels) channel[p] = 0;
    return;
  }
  double mean = 0;
  for (const std::size_t p : s.known) mean += channel[p];
  mean /= static_cast<double>(s.known.size());
  const bool constant = std::ranges::all_of(
      s.known, [&](std::size_t p) { return channel[p] == channel[s.known.front()]; });
  if (constant) mean = channel[s.known.front()];
  Values right(s.size(), 0.0);
  for (std::size_t i = 0; i < s.size(); ++i) {
    for (std::size_t k = s.known_begin[i]; k < s.known_begin[i + 1]; ++k)
      right[i] += s.known_weight[k] * (channel[s.known[k]] - mean);
  }
  const Values u = solved(s, right);
  for (std::size_t i = 0; i < s.size(); ++i) channel[s.pixels[i]] = static_cast<float>(u[i] + mean);
}

void check_removed(const Image& image, std::size_t count) {
  FOVEA_CHECK(static_cast<std::int64_t>(count) == image.pixels(), ShapeError,
              fmt::format("linear imputation: a mask of {} pixels; expected {} x {}", count,
                          image.height, image.width));
}

}  // namespace

void impute_linear(Image& image, std::span<const std::uint8_t> removed) {
  check_removed(image, removed.size());
  const NeighbourSystem system = system_of(removed, image.height, image.width);
  if (system.size() == 0) return;
  for (std::size_t c = 0; c < static_cast<std::size_t>(image.channels); ++c)
    impute_channel(system, std::span(image.values).subspan(c * removed.size(), removed.size()));
}

void add_noise(Image& image, std::span<const std::uint8_t> removed, std::span<const double> noise,
               double scale) {
  check_removed(image, removed.size());
  FOVEA_CHECK(noise.size() == image.values.size(), ShapeError,
              fmt::format("linear imputation: {} values of noise; expected {}", noise.size(),
                          image.values.size()));
  for (std::size_t i = 0; i < noise.size(); ++i) {
    if (removed[i % removed.size()] != 0)
      image.values[i] = static_cast<float>(image.values[i] + scale * noise[i]);
  }
}

}  // namespace fovea::explain
