#include "visualise/maps/rollouts/unit_rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "tensor/host.h"

namespace fovea::visualise {
namespace {

void check(const attention::Probe::Record& record, std::int64_t item) {
  const Tensor& maps = record.value;
  FOVEA_CHECK(maps.rank() == 5 && record.tokens.defined() && item < maps.size(0), ShapeError,
              fmt::format("unit rollout: a record \"{}\" of {}; expected \"unit_attn\" (b, heads, "
                          "units, members, members)",
                          record.name, to_string(maps.shape())));
}

std::int64_t count_tokens(std::span<const std::int64_t> places) {
  return std::count_if(places.begin(), places.end(), [](std::int64_t t) { return t >= 0; });
}

}  // namespace

UnitMap::UnitMap(const attention::Probe::Record& record, std::int64_t item) {
  check(record, item);
  const Tensor& maps = record.value;
  const std::int64_t heads = maps.size(1);
  members_ = maps.size(4);
  const auto tokens = record.tokens.host_values<std::int64_t>();
  places_.assign(tokens.begin(), tokens.end());
  n_ = count_tokens(places_);
  const std::int64_t size = maps.numel() / maps.size(0) / heads;
  weights_.assign(static_cast<std::size_t>(size), 0.0);
  const auto values = maps.host_values<float>();
  for (std::int64_t head = 0; head < heads; ++head) {
    const float* of_head = values.data() + (item * heads + head) * size;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      weights_[i] += double{of_head[i]} / static_cast<double>(heads);
  }
  const auto m = static_cast<std::size_t>(members_);
  for (std::size_t query = 0; query < places_.size(); ++query) {
    const std::size_t first = query / m * m;  // place of the unit's first member
    double total = 0;
    for (std::size_t k = 0; k < m; ++k) {
      double& weight = weights_[query * m + k];
      if (places_[first + k] < 0) weight = 0;
      total += weight;
    }
    for (std::size_t k = 0; k < m && total > 0; ++k) weights_[query * m + k] /= total;
  }
}

std::vector<double> UnitMap::times(const std::vector<double>& row) const {
  FOVEA_CHECK(std::ssize(row) == n_, ShapeError,
              fmt::format("unit rollout: a row of {} weights for {} tokens", row.size(), n_));
  std::vector<double> result(row.size(), 0.0);
  const auto m = static_cast<std::size_t>(members_);
  for (std::size_t query = 0; query < places_.size(); ++query) {
    if (places_[query] < 0) continue;
    const double weight = row[static_cast<std::size_t>(places_[query])];
    const std::size_t first = query / m * m;
    for (std::size_t k = 0; k < m && weight != 0; ++k) {
      if (places_[first + k] >= 0)
        result[static_cast<std::size_t>(places_[first + k])] += weight * weights_[query * m + k];
    }
  }
  return result;
}

std::vector<double> UnitMap::dense() const {
  std::vector<double> all;
  for (std::int64_t token = 0; token < n_; ++token) {
    std::vector<double> row(static_cast<std::size_t>(n_), 0.0);
    row[static_cast<std::size_t>(token)] = 1;
    const std::vector<double> seen = times(row);
    all.insert(all.end(), seen.begin(), seen.end());
  }
  return all;
}

Tensor unit_rows(const attention::Probe::Record& record, std::int64_t first, std::int64_t count,
                 std::int64_t item) {
  check(record, item);
  const std::vector<double> weights = host_doubles(record.value);
  const auto places = record.tokens.host_values<std::int64_t>();
  const std::int64_t heads = record.value.size(1), members = record.value.size(4),
                     n = count_tokens(places);
  const std::int64_t rows = count < 0 ? n - first : count;
  FOVEA_CHECK(first >= 0 && first + rows <= n, ShapeError,
              fmt::format("unit rollout: rows {} to {} of {} tokens", first, first + rows, n));
  const std::int64_t queries = std::ssize(places);
  std::vector<double> all(static_cast<std::size_t>(heads * rows * n), 0.0);
  for (std::int64_t query = 0; query < queries; ++query) {
    const std::int64_t row = places[static_cast<std::size_t>(query)] - first;
    if (row < 0 || row >= rows) continue;
    const std::int64_t unit = query / members * members;  // place of its first member
    for (std::int64_t head = 0; head < heads; ++head) {
      const double* seen = weights.data() + ((item * heads + head) * queries + query) * members;
      for (std::int64_t k = 0; k < members; ++k) {
        const std::int64_t key = places[static_cast<std::size_t>(unit + k)];
        if (key >= 0) all[static_cast<std::size_t>((head * rows + row) * n + key)] = seen[k];
      }
    }
  }
  return Tensor::from(all, {heads, rows, n}, record.tokens.device());
}

std::vector<double> unit_rollout(const std::vector<UnitMap>& blocks, std::vector<double> row,
                                 double residual) {
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    const std::vector<double> seen = block->times(row);
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = residual * row[i] + (1 - residual) * seen[i];
  }
  return row;
}

}  // namespace fovea::visualise
