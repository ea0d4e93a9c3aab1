#include "visualise/unit_rollout.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::visualise {

UnitMap::UnitMap(const attention::Probe::Record& record, std::int64_t item) {
  const Tensor& maps = record.value;
  FOVEA_CHECK(maps.rank() == 5 && record.tokens.defined() && item < maps.size(0), ShapeError,
              fmt::format("unit rollout: a record \"{}\" of {}; expected \"unit_attn\" (b, heads, "
                          "units, members, members)",
                          record.name, to_string(maps.shape())));
  const std::int64_t heads = maps.size(1);
  members_ = maps.size(4);
  const auto tokens = record.tokens.host_values<std::int64_t>();
  places_.assign(tokens.begin(), tokens.end());
  for (const std::int64_t token : places_) n_ += token >= 0 ? 1 : 0;
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
