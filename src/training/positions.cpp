#include "training/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "tensor/host.h"

namespace fovea::training {
namespace {

// Keys' cubic convolution kernel with a = -1/2.
double cubic(double x) {
  x = std::abs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return 0;
}

// The inputs that make one output, and their shares.
struct Taps {
  std::int64_t first = 0;
  std::vector<double> shares;
};

std::vector<Taps> taps_between(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double width = std::max(scale, 1.0);  // of the filter: wider when it shrinks
  std::vector<Taps> all;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = scale * (static_cast<double>(i) + 0.5);
    Taps taps;
    taps.first = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - 2 * width + 0.5));
    const std::int64_t end =
        std::min<std::int64_t>(from, static_cast<std::int64_t>(centre + 2 * width + 0.5));
    double sum = 0;
    for (std::int64_t j = taps.first; j < end; ++j) {
      taps.shares.push_back(cubic((static_cast<double>(j) + 0.5 - centre) / width));
      sum += taps.shares.back();
    }
    for (double& share : taps.shares) share /= sum;
    all.push_back(std::move(taps));
  }
  return all;
}

// (outer, from, inner) -> (outer, to, inner) along the middle axis.
std::vector<double> resized(const std::vector<double>& x, std::int64_t from, std::int64_t to,
                            std::int64_t inner) {
  const std::vector<Taps> taps = taps_between(from, to);
  const std::int64_t outer = std::ssize(x) / (from * inner);
  std::vector<double> y(static_cast<std::size_t>(outer * to * inner), 0.0);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < to; ++i) {
      const Taps& t = taps[static_cast<std::size_t>(i)];
      double* row = y.data() + (o * to + i) * inner;
      for (std::size_t k = 0; k < t.shares.size(); ++k) {
        const double* source =
            x.data() + (o * from + t.first + static_cast<std::int64_t>(k)) * inner;
        for (std::int64_t c = 0; c < inner; ++c) row[c] += t.shares[k] * source[c];
      }
    }
  }
  return y;
}

}  // namespace

Tensor resample_positions(const Tensor& table, const PositionGrid& grid, const std::string& file) {
  FOVEA_CHECK(grid.h > 0 && grid.w > 0, ConfigError,
              "--interpolate-pos-embed: the network has no grid of patches");
  const std::int64_t tokens = grid.prefix_tokens + grid.h * grid.w;
  FOVEA_CHECK(grid.rows == tokens, ConfigError,
              fmt::format("--interpolate-pos-embed: the network has {} rows of positions for {} "
                          "tokens; set model.pos_rows={}",
                          grid.rows, tokens, tokens));
  FOVEA_CHECK(table.rank() == 3 && table.size(0) == 1 && is_floating(table.dtype()), FileError,
              fmt::format("{}: pos_embed is {}; expected (1, tokens, dim)", file,
                          to_string(table.shape())));
  if (table.size(1) == tokens && grid.h == grid.w) return table;
  const std::int64_t dim = table.size(2);
  const std::int64_t patches = table.size(1) - grid.prefix_tokens;
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(patches)) + 0.5);
  FOVEA_CHECK(patches > 0 && side * side == patches, FileError,
              fmt::format("{}: pos_embed has {} rows, of which {} are of prefix tokens; the other "
                          "{} are no square",
                          file, table.size(1), grid.prefix_tokens, patches));
  const std::vector<double> values = host_doubles(table);
  const auto split = values.begin() + grid.prefix_tokens * dim;
  std::vector<double> result(values.begin(), split);
  std::vector<double> rows = resized({split, values.end()}, side, grid.w, dim);
  rows = resized(rows, side, grid.h, grid.w * dim);
  result.insert(result.end(), rows.begin(), rows.end());
  return from_doubles(result, {1, tokens, dim}, DType::kFloat32, table.device());
}

}  // namespace fovea::training
