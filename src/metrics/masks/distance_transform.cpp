#include "metrics/masks/distance_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace fovea::metrics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Replaces the values f of a line by min over q of f(q) + (step (p - q))^2: the lower envelope of a
// parabola at every q.
class LowerEnvelope {
 public:
  explicit LowerEnvelope(std::int64_t longest)
      : values_(static_cast<std::size_t>(longest)),
        centre_(values_.size()),
        begins_(values_.size()) {}

  void replace(double* line, std::int64_t n, std::int64_t stride, double step) {
    std::size_t parabolas = 0;
    for (std::int64_t q = 0; q < n; ++q) {
      const auto at = static_cast<std::size_t>(q);
      values_[at] = line[q * stride] / (step * step);
      if (values_[at] == kInfinity) continue;
      double begin = -kInfinity;
      // A parabola that begins only beyond the start of the next one is never the lowest.
      while (parabolas > 0) {
        begin = meeting(centre_[parabolas - 1], q);
        if (begin > begins_[parabolas - 1]) break;
        begin = -kInfinity;
        --parabolas;
      }
      centre_[parabolas] = q;
      begins_[parabolas++] = begin;
    }
    if (parabolas == 0) return;
    std::size_t k = 0;
    for (std::int64_t p = 0; p < n; ++p) {
      while (k + 1 < parabolas && begins_[k + 1] < static_cast<double>(p)) ++k;
      const auto apart = static_cast<double>(p - centre_[k]);
      line[p * stride] =
          (values_[static_cast<std::size_t>(centre_[k])] + apart * apart) * (step * step);
    }
  }

 private:
  // Where the parabola at q becomes lower than that at r < q.
  double meeting(std::int64_t r, std::int64_t q) const {
    const auto height = [&](std::int64_t at) {
      return values_[static_cast<std::size_t>(at)] + static_cast<double>(at * at);
    };
    return (height(q) - height(r)) / static_cast<double>(2 * (q - r));
  }

  std::vector<double> values_;  // of the line, in steps squared
  std::vector<std::int64_t> centre_;
  std::vector<double> begins_;
};

}  // namespace

std::int64_t Grid::pixels() const {
  std::int64_t pixels = 1;
  for (const std::int64_t n : size) pixels *= n;
  return pixels;
}

void check_grid(std::size_t values, const Grid& grid) {
  FOVEA_CHECK(std::ssize(grid.size) > 0 && grid.pixels() == static_cast<std::int64_t>(values),
              ShapeError, fmt::format("grid: {} pixels, {} values", grid.pixels(), values));
  const bool fits = grid.spacing.empty() || grid.spacing.size() == grid.size.size();
  FOVEA_CHECK(fits, ShapeError,
              fmt::format("grid: {} axes, {} spacings", grid.size.size(), grid.spacing.size()));
  for (const double step : grid.spacing) {
    FOVEA_CHECK(step > 0 && std::isfinite(step), ShapeError,
                fmt::format("grid: spacing is {}; expected above 0", step));
  }
}

std::vector<double> squared_distances(std::span<const std::uint8_t> mask, const Grid& grid) {
  check_grid(mask.size(), grid);
  std::vector<double> squared(mask.size());
  std::transform(mask.begin(), mask.end(), squared.begin(),
                 [](std::uint8_t inside) { return inside != 0 ? 0 : kInfinity; });
  if (mask.empty()) return squared;
  LowerEnvelope envelope(*std::max_element(grid.size.begin(), grid.size.end()));
  std::int64_t stride = 1;
  for (std::size_t axis = grid.size.size(); axis-- > 0;) {
    const std::int64_t n = grid.size[axis];
    for (std::int64_t line = 0; line < grid.pixels() / n; ++line) {
      const std::int64_t first = line / stride * stride * n + line % stride;
      envelope.replace(squared.data() + first, n, stride, grid.step(axis));
    }
    stride *= n;
  }
  return squared;
}

}  // namespace fovea::metrics
