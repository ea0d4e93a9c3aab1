#include "visualise/grid_rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::visualise {
namespace {

using attention::Probe;
using Row = std::vector<double>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// (1, heads, rows, keys) -> (heads, rows, keys) float64.
Tensor single(const Tensor& record) {
  return ops::cast(record.alias(record.shape().part(1, 4)), DType::kFloat64);
}

// Keys are one for every s x s tokens, or pooled to a fixed square.
void set_keys(GridAttention& block, std::int64_t keys) {
  const std::int64_t n = block.grid_h * block.grid_w;
  const auto s = static_cast<std::int64_t>(
      std::lround(std::sqrt(static_cast<double>(n) / static_cast<double>(keys))));
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(keys))));
  block.keys_h = block.grid_h / s;
  block.keys_w = block.grid_w / s;
  if (block.keys_h * block.keys_w != keys) block.keys_h = block.keys_w = side;
  FOVEA_CHECK(block.keys_h * block.keys_w == keys, ShapeError,
              fmt::format("{}: {} keys for {} x {} tokens lie on no grid", block.block, keys,
                          block.grid_h, block.grid_w));
}

std::int64_t query_of(const GridAttention& block, Probe::Place place) {
  Probe probe;
  probe.only(place);
  return probe.rows(0, block.grid_h, block.grid_w).first;
}

// A of one query: max(map, 0), mean over heads, sum 1.
Row positive_row(const GridAttention& block, std::int64_t query) {
  constexpr double kFloor = 1e-8;
  const std::int64_t heads = block.map.size(0), rows = block.map.size(1), keys = block.map.size(2);
  const std::int64_t row = query - block.first_row;
  FOVEA_CHECK(
      row >= 0 && row < rows, ConfigError,
      fmt::format("{}: only one row of its map was made; draw with --whole-maps", block.block));
  const auto values = block.map.host_values<double>();
  Row sums(at(keys), 0.0);
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t k = 0; k < keys; ++k)
      sums[at(k)] += std::max(0.0, values[at((head * rows + row) * keys + k)]);
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  for (double& sum : sums) sum /= std::max(total, kFloor);
  return sums;
}

std::int64_t key_of(const GridAttention& b, std::int64_t token) {
  return token / b.grid_w * b.keys_h / b.grid_h * b.keys_w + token % b.grid_w * b.keys_w / b.grid_w;
}

// (r + r A) / 2.
Row through(const GridAttention& block, const Row& r) {
  Row on_keys(at(block.keys_h * block.keys_w), 0.0), tokens_of(on_keys.size(), 0.0);
  for (std::size_t i = 0; i < r.size(); ++i) {
    tokens_of[at(key_of(block, static_cast<std::int64_t>(i)))] += 1;
    if (r[i] == 0) continue;
    const Row a = positive_row(block, static_cast<std::int64_t>(i));
    for (std::size_t k = 0; k < a.size(); ++k) on_keys[k] += r[i] * a[k];
  }
  Row result(r.size());
  for (std::size_t i = 0; i < r.size(); ++i) {
    const std::size_t key = at(key_of(block, static_cast<std::int64_t>(i)));
    result[i] = (r[i] + on_keys[key] / tokens_of[key]) / 2;
  }
  return result;
}

}  // namespace

std::vector<GridAttention> observe_grids(models::Model& model, const Tensor& image,
                                         std::optional<Probe::Place> place) {
  const autograd::NoGrad no_grad;
  model.train(false);
  Probe probe;
  if (place) probe.only(*place);
  const Tensor there = ops::to(image, model.parameters().front().tensor.device());
  model(models::only_input(model.interface(), there), &probe);
  std::vector<GridAttention> blocks;
  GridAttention block;
  for (const Probe::Record& record : probe.records()) {
    // What an attention records comes before the features of its block, which know the grid.
    if (record.name == "attn1" || record.name == "attn_pos") block.map1 = single(record.value);
    if (record.name == "attn2" || record.name == "attn_neg") block.map2 = single(record.value);
    if (record.name == "attn" || record.name == "reduced_attn") {
      block.block = record.module.substr(0, record.module.rfind('.'));
      block.map = single(record.value);
    }
    if (record.name != "features" || record.value.rank() != 4) continue;
    if (block.block == record.module) {
      block.grid_h = record.value.size(2);
      block.grid_w = record.value.size(3);
      set_keys(block, block.map.size(2));
      const bool part = place && block.map.size(1) < block.grid_h * block.grid_w;
      block.first_row = part ? query_of(block, *place) : 0;
      blocks.push_back(std::move(block));
    }
    block = {};
  }
  FOVEA_CHECK(!blocks.empty(), ConfigError, "model: has no attention over tokens to show");
  return blocks;
}

std::vector<GridRollout> grid_rollouts(std::span<const GridAttention> blocks, Probe::Place place) {
  std::vector<GridRollout> rollouts;
  for (std::size_t first = 0; first < blocks.size();) {
    const GridAttention& one = blocks[first];
    std::size_t end = first + 1;
    while (end < blocks.size() && blocks[end].grid_h == one.grid_h &&
           blocks[end].grid_w == one.grid_w)
      ++end;
    GridRollout& rollout = rollouts.emplace_back();
    rollout.first = one.block;
    rollout.last = blocks[end - 1].block;
    rollout.grid_h = one.grid_h;
    rollout.grid_w = one.grid_w;
    rollout.query = query_of(one, place);
    rollout.weights.assign(at(one.grid_h * one.grid_w), 0.0);
    rollout.weights[at(rollout.query)] = 1;
    for (std::size_t b = end; b > first; --b)
      rollout.weights = through(blocks[b - 1], rollout.weights);
    first = end;
  }
  return rollouts;
}

}  // namespace fovea::visualise
