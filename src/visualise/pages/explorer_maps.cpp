#include "visualise/pages/explorer_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "visualise/pages/explorer.h"
#include "visualise/pages/page_parts.h"

namespace fovea::visualise {
namespace {

void append_float32(std::string& bytes, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 0xFF);
}

struct Planes {
  std::string scales, values;
};

void append_row(std::span<const double> row, Planes& planes, const std::string& where) {
  double largest = 0;
  for (const double w : row) {
    FOVEA_CHECK(std::isfinite(static_cast<float>(w)), NumericError,
                fmt::format("explorer: {} holds {}; expected finite weights", where, w));
    largest = std::max(largest, std::abs(w));
  }
  append_float32(planes.scales, static_cast<float>(largest));
  for (const double w : row) {
    const double share = largest > 0 ? std::sqrt(std::abs(w) / largest) : 0;
    const auto q = static_cast<int>(std::lround(127 * share));
    planes.values += static_cast<char>(static_cast<std::int8_t>(w < 0 ? -q : q));
  }
}

void append_map(std::span<const double> map, std::int64_t n, Planes& planes,
                const std::string& where) {
  const auto width = static_cast<std::size_t>(n);
  for (std::size_t row = 0; row < width; ++row) {
    append_row(map.subspan(row * width, width), planes, where);
  }
}

}  // namespace

std::string pack_maps(std::span<const AttentionMap> layers, const Matrix& rollout) {
  FOVEA_CHECK(!layers.empty(), ShapeError, "explorer: no layers; expected at least one map");
  const std::int64_t n = layers[0].n;
  Planes planes;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const AttentionMap& map = layers[layer];
    FOVEA_CHECK(map.heads >= 1 && n >= 1 && map.n == n &&
                    std::ssize(map.values) == map.heads * map.n * map.n,
                ShapeError,
                fmt::format("explorer: layer {} is ({}, {}, {}) with {} values; expected "
                            "(heads, {}, {})",
                            layer, map.heads, map.n, map.n, map.values.size(), n, n));
    const std::span<const double> values(map.values);
    for (std::int64_t head = 0; head < map.heads; ++head) {
      append_map(
          values.subspan(static_cast<std::size_t>(head * n * n), static_cast<std::size_t>(n * n)),
          n, planes, fmt::format("layer {}, head {}", layer, head));
    }
  }
  if (!rollout.values.empty()) {
    FOVEA_CHECK(rollout.rows == n && rollout.cols == n && std::ssize(rollout.values) == n * n,
                ShapeError,
                fmt::format("explorer: rollout is ({}, {}) with {} values; expected ({}, {})",
                            rollout.rows, rollout.cols, rollout.values.size(), n, n));
    append_map(rollout.values, n, planes, "the rollout");
  }
  return to_packed_base64(planes.scales + planes.values);
}

std::string pack_object_maps(std::span<const ExplorerObjectMap> maps, std::int64_t objects) {
  Planes planes;
  for (const ExplorerObjectMap& map : maps) {
    const std::int64_t cells = std::max<std::int64_t>(1, map.rows) * map.cols;
    const std::int64_t rows = map.heads * objects;
    FOVEA_CHECK(map.heads >= 1 && cells >= 1 && std::ssize(map.weights) == rows * cells, ShapeError,
                fmt::format("explorer: {} has {} weights; expected ({}, {}, {})", map.name,
                            map.weights.size(), map.heads, objects, cells));
    const std::span<const double> values(map.weights);
    for (std::int64_t row = 0; row < rows; ++row)
      append_row(
          values.subspan(static_cast<std::size_t>(row * cells), static_cast<std::size_t>(cells)),
          planes, map.name);
  }
  return to_packed_base64(planes.scales + planes.values);
}

std::string pack_row(std::span<const double> row, const std::string& where) {
  Planes planes;
  append_row(row, planes, where);
  return to_packed_base64(planes.scales + planes.values);
}

}  // namespace fovea::visualise
