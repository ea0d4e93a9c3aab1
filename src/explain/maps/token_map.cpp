#include "explain/maps/token_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace fovea::explain {
namespace {

// As place_on where cells are 2 x 2 (of volumes 2 x 2 x 2), with ragged edges cut off.
std::int64_t merged_place(std::int64_t i, const GridSize& fine, const GridSize& coarse) {
  const auto half = [](std::int64_t length) { return (length + 1) / 2; };
  if (coarse.h != half(fine.h) || coarse.w != half(fine.w) || coarse.d != half(fine.d))
    return place_on(i, fine, coarse);
  const std::int64_t z = i / (fine.h * fine.w), y = i / fine.w % fine.h, x = i % fine.w;
  return (z / 2 * coarse.h + y / 2) * coarse.w + x / 2;
}

}  // namespace

std::int64_t place_on(std::int64_t i, const GridSize& fine, const GridSize& coarse) {
  const std::int64_t z = i / (fine.h * fine.w), y = i / fine.w % fine.h, x = i % fine.w;
  return (z * coarse.d / fine.d * coarse.h + y * coarse.h / fine.h) * coarse.w +
         x * coarse.w / fine.w;
}

std::string text_of(const GridSize& grid) {
  return (grid.d > 1 ? fmt::format("{} x ", grid.d) : "") + fmt::format("{} x {}", grid.h, grid.w);
}

std::vector<double> mean_over_heads(const std::vector<double>& map,
                                    const std::vector<double>& gradient, std::int64_t heads,
                                    Weighing weighing) {
  const bool graded = weighing != Weighing::kRollout && weighing != Weighing::kWeights;
  FOVEA_CHECK(
      heads >= 1 && std::ssize(map) % heads == 0 && (!graded || map.size() == gradient.size()),
      ShapeError,
      fmt::format("explanation: {} weights of {} heads, {} gradients; expected as many of "
                  "each head, and of both",
                  map.size(), heads, gradient.size()));
  const std::size_t each = map.size() / as_index(heads);
  const auto weight_of = [&](std::size_t i, double of_head) {
    switch (weighing) {
      case Weighing::kWeights:
        return map[i];
      case Weighing::kRollout:
        return std::max(map[i], 0.0);
      case Weighing::kPositiveGradient:
        return std::max(map[i] * gradient[i], 0.0);
      case Weighing::kSignedGradient:
        return map[i] * gradient[i];
      default:
        return map[i] * of_head;
    }
  };
  std::vector<double> mean(each, 0.0);
  for (std::size_t first = 0; first < map.size(); first += each) {
    double of_head = 0;
    for (std::size_t i = first; graded && i < first + each; ++i) of_head += gradient[i];
    of_head /= static_cast<double>(each);
    for (std::size_t i = 0; i < each; ++i) mean[i] += weight_of(first + i, of_head);
  }
  for (double& weight : mean) weight /= static_cast<double>(heads);
  return mean;
}

TokenMap::TokenMap(Matrix weights, GridSize grid, GridSize keys)
    : n_(grid.count()), weights_(std::move(weights)), tokens_of_(as_index(keys.count()), 0.0) {
  FOVEA_CHECK(weights_.rows == n_ && weights_.cols == keys.count(), ShapeError,
              fmt::format("explanation: a map is ({}, {}) for {} tokens and {} keys", weights_.rows,
                          weights_.cols, text_of(grid), text_of(keys)));
  for (std::int64_t i = 0; i < n_; ++i) {
    key_of_.push_back(place_on(i, grid, keys));
    tokens_of_[as_index(key_of_.back())] += 1;
  }
}

TokenMap::TokenMap(Matrix weights) : n_(weights.rows), weights_(std::move(weights)) {
  FOVEA_CHECK(weights_.cols == n_, ShapeError,
              fmt::format("explanation: a map is ({}, {}); expected as many keys as tokens",
                          weights_.rows, weights_.cols));
}

TokenMap::TokenMap(std::vector<double> weights, std::vector<std::int64_t> places,
                   std::int64_t units, std::int64_t n)
    : n_(n),
      units_(units),
      members_(std::ssize(places) / units),
      places_(std::move(places)),
      unit_weights_(std::move(weights)) {
  FOVEA_CHECK(std::ssize(unit_weights_) == units_ * members_ * members_, ShapeError,
              fmt::format("explanation: {} weights for {} units of {} tokens", unit_weights_.size(),
                          units_, members_));
}

std::vector<double> TokenMap::times(const std::vector<double>& row) const {
  if (units_ == 0) {
    std::vector<double> on_keys = explain::times(row, weights_);
    if (key_of_.empty()) return on_keys;
    std::vector<double> result(as_index(n_));
    for (std::int64_t i = 0; i < n_; ++i)
      result[as_index(i)] =
          on_keys[as_index(key_of_[as_index(i)])] / tokens_of_[as_index(key_of_[as_index(i)])];
    return result;
  }
  std::vector<double> result(as_index(n_), 0.0);
  for (std::int64_t u = 0; u < units_; ++u) {
    for (std::int64_t i = 0; i < members_; ++i) {
      const std::int64_t query = places_[as_index(u * members_ + i)];
      if (query < 0 || row[as_index(query)] == 0) continue;
      for (std::int64_t j = 0; j < members_; ++j) {
        const std::int64_t key = places_[as_index(u * members_ + j)];
        if (key < 0) continue;
        result[as_index(key)] +=
            row[as_index(query)] * unit_weights_[as_index((u * members_ + i) * members_ + j)];
      }
    }
  }
  return result;
}

std::vector<double> TokenMap::row_sums() const {
  std::vector<double> sums(as_index(n_), 0.0);
  if (units_ == 0) {
    for (std::int64_t i = 0; i < n_; ++i) {
      for (std::int64_t j = 0; j < weights_.cols; ++j) sums[as_index(i)] += weights_.at(i, j);
    }
    return sums;
  }
  for (std::int64_t u = 0; u < units_; ++u) {
    for (std::int64_t i = 0; i < members_; ++i) {
      const std::int64_t query = places_[as_index(u * members_ + i)];
      for (std::int64_t j = 0; query >= 0 && j < members_; ++j) {
        if (places_[as_index(u * members_ + j)] >= 0)
          sums[as_index(query)] += unit_weights_[as_index((u * members_ + i) * members_ + j)];
      }
    }
  }
  return sums;
}

void TokenMap::normalise_rows() {
  const std::vector<double> sums = row_sums();
  const auto scale = [&](std::int64_t query, double& weight) {
    if (sums[as_index(query)] != 0) weight /= sums[as_index(query)];
  };
  for (std::int64_t i = 0; units_ == 0 && i < n_; ++i) {
    for (std::int64_t j = 0; j < weights_.cols; ++j) scale(i, weights_.at(i, j));
  }
  for (std::int64_t place = 0; place < units_ * members_; ++place) {
    if (places_[as_index(place)] < 0) continue;
    for (std::int64_t j = 0; j < members_; ++j)
      scale(places_[as_index(place)], unit_weights_[as_index(place * members_ + j)]);
  }
}

Matrix TokenMap::dense() const {
  Matrix all{n_, n_, {}};
  for (std::int64_t i = 0; i < n_; ++i) {
    std::vector<double> one(as_index(n_), 0.0);
    one[as_index(i)] = 1;
    const std::vector<double> row = times(one);
    all.values.insert(all.values.end(), row.begin(), row.end());
  }
  return all;
}

namespace {

std::vector<double> through_layer(const TokenMap& map, std::vector<double> row, StageRule rule) {
  if (rule == StageRule::kGradientRollout) {
    const std::vector<double> sums = map.row_sums();
    for (std::size_t i = 0; i < row.size(); ++i) row[i] /= 1 + sums[i];
  }
  const std::vector<double> through = map.times(row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] += through[i];
    if (rule == StageRule::kRollout) row[i] /= 2;
  }
  return row;
}

// Weights of a grid, each in equal parts on the tokens of the finer one that it was made of.
std::vector<double> to_finer(const std::vector<double>& row, const GridSize& coarse,
                             const GridSize& fine) {
  std::vector<double> parts(row.size(), 0.0), result(as_index(fine.count()));
  for (std::int64_t i = 0; i < fine.count(); ++i)
    parts[as_index(merged_place(i, fine, coarse))] += 1;
  for (std::int64_t i = 0; i < fine.count(); ++i) {
    const std::size_t from = as_index(merged_place(i, fine, coarse));
    result[as_index(i)] = row[from] / parts[from];
  }
  return result;
}

// Weights of a grid, each on the token of the coarser one in whose place it lies.
std::vector<double> to_coarser(const std::vector<double>& row, const GridSize& fine,
                               const GridSize& coarse) {
  std::vector<double> result(as_index(coarse.count()), 0.0);
  for (std::int64_t i = 0; i < fine.count(); ++i)
    result[as_index(merged_place(i, fine, coarse))] += row[as_index(i)];
  return result;
}

bool covers(const GridSize& fine, const GridSize& coarse) {
  return fine.d >= coarse.d && fine.h >= coarse.h && fine.w >= coarse.w;
}

// Weights of the tokens of a stage as weights of those of the stage before.
std::vector<double> to_stage_before(const std::vector<double>& row, const GridSize& grid,
                                    const GridSize& before) {
  if (covers(before, grid)) return to_finer(row, grid, before);
  FOVEA_CHECK(
      covers(grid, before), ConfigError,
      fmt::format("explanation: a grid of {} tokens follows one of {}; expected one that is "
                  "coarser or finer along all axes",
                  text_of(grid), text_of(before)));
  return to_coarser(row, grid, before);
}

// Adds a row to what other stages made of the same tokens.
void add_row(std::vector<double>& sum, const std::vector<double>& row, double factor) {
  sum.resize(row.size(), 0.0);
  for (std::size_t i = 0; i < row.size(); ++i) sum[i] += factor * row[i];
}

}  // namespace

std::vector<double> through_stages(std::span<const StageMaps> stages, StageRule rule) {
  FOVEA_CHECK(!stages.empty(), ShapeError, "explanation: no stages; expected at least one");
  const std::int64_t n = stages.back().grid.count();
  std::vector<std::vector<double>> readings(stages.size());
  readings.back().assign(as_index(n), 1 / static_cast<double>(n));
  return through_stages(stages, rule, std::move(readings));
}

std::vector<double> through_stages(std::span<const StageMaps> stages, StageRule rule,
                                   std::vector<std::vector<double>> readings) {
  FOVEA_CHECK(!stages.empty() && readings.size() == stages.size(), ShapeError,
              fmt::format("explanation: rows of {} stages for {}; expected one for each, and at "
                          "least one",
                          readings.size(), stages.size()));
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::int64_t given = std::ssize(readings[s]), n = stages[s].grid.count();
    FOVEA_CHECK(given == 0 || given == n, ShapeError,
                fmt::format("explanation: {} weights for {} tokens of a stage", given, n));
  }
  std::vector<std::vector<double>> of_begins(stages.size());  // what decoders read before blocks
  // The weights of the tokens that a stage began with.
  const auto begin_of = [&](std::size_t s) {
    std::vector<double> row = std::move(readings[s]);
    const std::size_t n = as_index(stages[s].grid.count());
    row.resize(n, 0.0);
    for (std::size_t l = stages[s].layers.size(); l-- > 0;)
      row = through_layer(stages[s].layers[l], std::move(row), rule);
    if (!of_begins[s].empty()) add_row(row, of_begins[s], 1);
    return row;
  };
  for (std::size_t s = stages.size() - 1; s > 0; --s) {
    const std::vector<double> row = begin_of(s);
    const auto& [grid, layers, skip, skip_of_begin] = stages[s];
    if (skip) {
      FOVEA_CHECK(*skip < s && stages[*skip].grid == grid, ShapeError,
                  "explanation: a skip connection joins grids of two sizes");
      add_row(skip_of_begin ? of_begins[*skip] : readings[*skip], row, 0.5);
    }
    add_row(readings[s - 1], to_stage_before(row, grid, stages[s - 1].grid), skip ? 0.5 : 1.0);
  }
  return begin_of(0);
}

}  // namespace fovea::explain
