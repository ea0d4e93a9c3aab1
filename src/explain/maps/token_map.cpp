#include "explain/maps/token_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace fovea::explain {
namespace {

// The place of a grid at which the place i of a finer one lies.
std::int64_t place_on(std::int64_t i, const GridSize& fine, const GridSize& coarse) {
  const std::int64_t y = i / fine.w * coarse.h / fine.h;
  return y * coarse.w + i % fine.w * coarse.w / fine.w;
}

// As place_on where cells are 2 x 2, with ragged edges cut off.
std::int64_t merged_place(std::int64_t i, const GridSize& fine, const GridSize& coarse) {
  if (coarse.h == (fine.h + 1) / 2 && coarse.w == (fine.w + 1) / 2)
    return i / fine.w / 2 * coarse.w + i % fine.w / 2;
  return place_on(i, fine, coarse);
}

}  // namespace

std::vector<double> mean_over_heads(const std::vector<double>& map,
                                    const std::vector<double>& gradient, std::int64_t heads,
                                    Weighing weighing) {
  const bool graded = weighing != Weighing::kRollout;
  FOVEA_CHECK(
      heads >= 1 && std::ssize(map) % heads == 0 && (!graded || map.size() == gradient.size()),
      ShapeError,
      fmt::format("explanation: {} weights of {} heads, {} gradients; expected as many of "
                  "each head, and of both",
                  map.size(), heads, gradient.size()));
  const std::size_t each = map.size() / as_index(heads);
  std::vector<double> mean(each, 0.0);
  for (std::size_t i = 0; i < map.size(); ++i) {
    const double weight = graded ? map[i] * gradient[i] : map[i];
    mean[i % each] += weighing == Weighing::kSignedGradient ? weight : std::max(weight, 0.0);
  }
  for (double& weight : mean) weight /= static_cast<double>(heads);
  return mean;
}

TokenMap::TokenMap(Matrix weights, GridSize grid, GridSize keys)
    : n_(grid.count()), weights_(std::move(weights)), tokens_of_(as_index(keys.count()), 0.0) {
  FOVEA_CHECK(weights_.rows == n_ && weights_.cols == keys.count(), ShapeError,
              fmt::format("explanation: a map is ({}, {}) for {} x {} tokens and {} x {} keys",
                          weights_.rows, weights_.cols, grid.h, grid.w, keys.h, keys.w));
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

}  // namespace

std::vector<double> through_stages(std::span<const StageMaps> stages, StageRule rule) {
  FOVEA_CHECK(!stages.empty(), ShapeError, "explanation: no stages; expected at least one");
  const std::int64_t n = stages.back().grid.count();
  return through_stages(stages, rule, std::vector<double>(as_index(n), 1 / static_cast<double>(n)));
}

std::vector<double> through_stages(std::span<const StageMaps> stages, StageRule rule,
                                   std::vector<double> row) {
  for (std::size_t s = stages.size(); s-- > 0;) {
    const StageMaps& stage = stages[s];
    if (s + 1 < stages.size()) {
      const GridSize& coarse = stages[s + 1].grid;
      FOVEA_CHECK(
          coarse.h <= stage.grid.h && coarse.w <= stage.grid.w, ConfigError,
          fmt::format("explanation: a grid of {} x {} tokens follows one of {} x {}; expected "
                      "grids that become coarser",
                      coarse.h, coarse.w, stage.grid.h, stage.grid.w));
      row = to_finer(row, coarse, stage.grid);
    }
    for (std::size_t l = stage.layers.size(); l-- > 0;)
      row = through_layer(stage.layers[l], std::move(row), rule);
  }
  return row;
}

}  // namespace fovea::explain
