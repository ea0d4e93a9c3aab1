#include "visualise/maps/rollouts/grid_rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "visualise/maps/probed.h"

namespace fovea::visualise {
namespace {

using attention::Probe;
using Weights = std::vector<double>;
using Blocks = std::span<const GridAttention>;

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

// A of one query, whose row must be there: max(map, 0), mean over heads, sum 1.
Weights positive_row(const GridAttention& block, std::int64_t query) {
  constexpr double kFloor = 1e-8;
  const std::int64_t heads = block.map.size(0), rows = block.map.size(1), keys = block.map.size(2);
  const std::int64_t row = query - block.first_row;
  const auto values = block.map.host_values<double>();
  Weights sums(at(keys), 0.0);
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

// Every row of its map is there.
bool has_rows(const GridAttention& block) {
  return block.windows.has_value() || block.map.size(1) == block.grid_h * block.grid_w;
}

// (r + r A) / 2.
Weights through(const GridAttention& block, const Weights& r) {
  if (block.windows) return unit_rollout({*block.windows}, r);
  Weights on_keys(at(block.keys_h * block.keys_w), 0.0), tokens_of(on_keys.size(), 0.0);
  for (std::size_t i = 0; i < r.size(); ++i) {
    tokens_of[at(key_of(block, static_cast<std::int64_t>(i)))] += 1;
    if (r[i] == 0) continue;
    const Weights a = positive_row(block, static_cast<std::int64_t>(i));
    for (std::size_t k = 0; k < a.size(); ++k) on_keys[k] += r[i] * a[k];
  }
  Weights result(r.size());
  for (std::size_t i = 0; i < r.size(); ++i) {
    const std::size_t key = at(key_of(block, static_cast<std::int64_t>(i)));
    result[i] = (r[i] + on_keys[key] / tokens_of[key]) / 2;
  }
  return result;
}

Weights through_all(Blocks blocks, Weights r) {
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) r = through(*block, r);
  return r;
}

// Blocks that follow each other on one grid.
std::vector<Blocks> sequences(Blocks blocks) {
  std::vector<Blocks> all;
  for (std::size_t first = 0; first < blocks.size();) {
    const GridAttention& one = blocks[first];
    std::size_t end = first + 1;
    while (end < blocks.size() && blocks[end].grid_h == one.grid_h &&
           blocks[end].grid_w == one.grid_w)
      ++end;
    all.push_back(blocks.subspan(first, end - first));
    first = end;
  }
  return all;
}

GridRollout unweighted(Blocks blocks, std::int64_t query) {
  const GridAttention& first = blocks.front();
  return {first.block, blocks.back().block, first.grid_h, first.grid_w, query, {}};
}

// In the last block the query's row is enough.
bool can_roll(Blocks blocks, std::int64_t query) {
  const GridAttention& last = blocks.back();
  const std::int64_t row = query - last.first_row;
  return std::all_of(blocks.begin(), blocks.end() - 1, has_rows) &&
         (last.windows || (row >= 0 && row < last.map.size(1)));
}

// Weights of a grid, each spread over the tokens of a finer one that it was made of.
Weights spread(const Weights& r, const GridAttention& from, const GridAttention& to) {
  const auto parent = [&](std::int64_t i) {
    return at(i / to.grid_w * from.grid_h / to.grid_h * from.grid_w +
              i % to.grid_w * from.grid_w / to.grid_w);
  };
  Weights children(r.size(), 0.0), result(at(to.grid_h * to.grid_w));
  for (std::int64_t i = 0; i < std::ssize(result); ++i) children[parent(i)] += 1;
  for (std::int64_t i = 0; i < std::ssize(result); ++i)
    result[at(i)] = r[parent(i)] / children[parent(i)];
  return result;
}

}  // namespace

std::vector<GridAttention> observe_grids(models::Model& model, const Tensor& image,
                                         std::optional<Probe::Place> place,
                                         std::int64_t whole_up_to) {
  Probe probe;
  if (place) probe.only(*place, whole_up_to);
  run_probed(model, image, probe);
  std::vector<GridAttention> blocks;
  GridAttention block;
  const Probe::Record* windows = nullptr;
  for (const Probe::Record& record : probe.records()) {
    // What an attention records comes before the features of its block, which know the grid.
    if (record.name == "attn1" || record.name == "attn_pos") block.map1 = single(record.value);
    if (record.name == "attn2" || record.name == "attn_neg") block.map2 = single(record.value);
    if (record.name == "attn" || record.name == "reduced_attn") block.map = single(record.value);
    if (record.name == "unit_attn") windows = &record;
    if (record.name.ends_with("attn")) {
      block.block = record.module.substr(0, record.module.rfind('.'));
      block.is_signed = record.is_signed;
    }
    if (record.name != "features" || record.value.rank() != 4) continue;
    if (block.block == record.module) {
      block.grid_h = record.value.size(2);
      block.grid_w = record.value.size(3);
      if (windows != nullptr) {
        block.windows.emplace(*windows);
        block.map =
            place ? unit_rows(*windows, query_of(block, *place), 1) : unit_rows(*windows, 0, -1);
      }
      set_keys(block, block.map.size(2));
      const bool part = place && block.map.size(1) < block.grid_h * block.grid_w;
      block.first_row = part ? query_of(block, *place) : 0;
      blocks.push_back(std::move(block));
    }
    block = {};
    windows = nullptr;
  }
  FOVEA_CHECK(!blocks.empty(), ConfigError, "model: has no attention over tokens to show");
  return blocks;
}

std::vector<GridRollout> grid_rollouts(Blocks blocks, Probe::Place place) {
  std::vector<GridRollout> rollouts;
  bool any = false;
  for (const Blocks sequence : sequences(blocks)) {
    const std::int64_t query = query_of(sequence.front(), place);
    GridRollout& rollout = rollouts.emplace_back(unweighted(sequence, query));
    if (!can_roll(sequence, query)) continue;
    Weights row(at(rollout.grid_h * rollout.grid_w), 0.0);
    row[at(query)] = 1;
    rollout.weights = through_all(sequence, std::move(row));
    any = true;
  }
  FOVEA_CHECK(
      any || rollouts.empty(), ConfigError,
      fmt::format("{}: only one row of its map was made, and the rollout of its {} x {} "
                  "tokens needs all; draw with --whole-maps",
                  rollouts.front().first, rollouts.front().grid_h, rollouts.front().grid_w));
  return rollouts;
}

std::optional<GridRollout> joined_rollout(Blocks blocks) {
  const std::vector<Blocks> all = sequences(blocks);
  if (all.size() < 2 || !std::all_of(blocks.begin(), blocks.end(), has_rows)) return std::nullopt;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const GridAttention &fine = all[i - 1].front(), &coarse = all[i].front();
    if (coarse.grid_h > fine.grid_h || coarse.grid_w > fine.grid_w) return std::nullopt;
  }
  const GridAttention& last = blocks.back();
  const std::int64_t n = last.grid_h * last.grid_w;
  GridRollout joined = unweighted(blocks, -1);
  joined.weights = through_all(all.back(), Weights(at(n), 1 / static_cast<double>(n)));
  for (std::size_t i = all.size() - 1; i-- > 0;)
    joined.weights =
        through_all(all[i], spread(joined.weights, all[i + 1].front(), all[i].front()));
  return joined;
}

}  // namespace fovea::visualise
