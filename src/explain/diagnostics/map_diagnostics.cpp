#include "explain/diagnostics/map_diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "explain/diagnostics/signed_maps.h"
#include "explain/diagnostics/singular_values.h"

namespace fovea::explain {
namespace {

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

// One row of a head's map.
struct MapRow {
  std::size_t first = 0;  // of its weights among those of the head
  std::int64_t index = 0, keys = 0;
  bool empty = false;  // all weights are 0
};

// The map of one head: A, and a, whose rows sum to 1 or are 0.
struct HeadMap {
  std::span<const double> raw;
  std::vector<double> shares;
  std::vector<MapRow> rows;  // part by part

  std::span<const double> shares_of(const MapRow& row) const {
    return std::span(shares).subspan(row.first, place(row.keys));
  }
};

HeadMap head_map(std::span<const double> raw, const std::vector<LayerMap::Part>& parts) {
  HeadMap head{raw, std::vector<double>(raw.size(), 0.0), {}};
  std::size_t first = 0;
  for (const LayerMap::Part& part : parts) {
    for (std::int64_t i = 0; i < part.rows; ++i) {
      double sum = 0;
      const std::size_t last = first + place(part.keys);
      for (std::size_t k = first; k < last; ++k) sum += std::abs(raw[k]);
      const bool empty = !(sum > 0);
      head.rows.push_back({first, i, part.keys, empty});
      for (std::size_t k = first; k < last && !empty; ++k) head.shares[k] = std::abs(raw[k]) / sum;
      first = last;
    }
  }
  return head;
}

double entropy_of(std::span<const double> row) {
  double entropy = 0;
  for (const double a : row) {
    if (a > 0) entropy -= a * std::log(a);
  }
  return entropy;
}

void add_entropies(const HeadMap& head, bool causal, HeadDiagnostics& to) {
  MeanOf entropy, relative;
  for (const MapRow& row : head.rows) {
    if (row.empty) continue;
    const double of_row = entropy_of(head.shares_of(row));
    const std::int64_t keys = causal ? row.index + 1 : row.keys;
    entropy.add(of_row);
    if (keys > 1) relative.add(of_row / std::log(static_cast<double>(keys)));
  }
  to.entropy.add(entropy.value());
  to.relative_entropy.add(relative.value());
}

// Of each key the mean of a over the rows that may see it, part by part.
std::vector<double> importances(const HeadMap& head, bool causal) {
  std::vector<double> all;
  std::vector<MeanOf> keys;  // of the part
  for (std::size_t r = 0; r < head.rows.size(); ++r) {
    const MapRow& row = head.rows[r];
    keys.resize(place(row.keys));
    const std::int64_t seen = causal ? std::min(row.index + 1, row.keys) : row.keys;
    for (std::int64_t k = 0; k < seen && !row.empty; ++k)
      keys[place(k)].add(head.shares[row.first + place(k)]);
    const bool ends = r + 1 == head.rows.size() || head.rows[r + 1].index == 0;
    if (!ends) continue;
    for (const MeanOf& key : keys) all.push_back(key.value());
    keys.clear();
  }
  return all;
}

void add_sinks(const HeadMap& head, LayerMap::Keys keys, const MapDiagnosticsOptions& o,
               HeadDiagnostics& to) {
  const std::vector<double> importance = importances(head, o.causal);
  double largest = std::numeric_limits<double>::quiet_NaN();
  for (const double one : importance) largest = std::fmax(largest, one);
  to.importance_max.add(largest);
  if (std::isnan(largest)) return;
  to.sink_any.add(largest > o.sink_threshold ? 1 : 0);
  if (keys != LayerMap::Keys::kAllTokens) return;
  to.sink_rate.add(importance[place(o.sink_token)] > o.sink_threshold ? 1 : 0);
  to.first_token_share.add(importance.front());
}

// Mean over the rows with a place of the distances to the keys that have one, over which a is made
// to sum to 1.
double distance_of(const HeadMap& head, std::span<const double> distances) {
  MeanOf mean;
  for (const MapRow& row : head.rows) {
    double sum = 0, weighted = 0;
    for (std::size_t k = row.first; k < row.first + place(row.keys); ++k) {
      if (std::isnan(distances[k])) continue;
      sum += head.shares[k];
      weighted += head.shares[k] * distances[k];
    }
    if (sum > 0) mean.add(weighted / sum);
  }
  return mean.value();
}

void add_signs(const LayerMap& map, std::size_t head, std::size_t size, HeadDiagnostics& to) {
  const auto of_head = [&](const std::vector<double>& all) {
    return std::span(all).subspan(head * size, size);
  };
  const std::span<const double> raw = of_head(map.values);
  to.negative_mass.add(negative_mass(raw));
  MeanOf rows;
  std::size_t first = 0;
  for (const LayerMap::Part& part : map.parts) {
    const std::size_t weights = place(part.rows * part.keys);
    rows.add(row_cancellation(raw.subspan(first, weights), part.rows));
    first += weights;
  }
  to.row_cancellation.add(rows.value());
  if (map.positive.empty()) return;
  const Cancellation both = cancellation(of_head(map.positive), of_head(map.negative));
  to.cancelled.add(both.cancelled);
  to.inhibited.add(both.inhibited);
}

double cosine(std::span<const double> x, std::span<const double> y) {
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    xy += x[k] * y[k];
    xx += x[k] * x[k];
    yy += y[k] * y[k];
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

double jensen_shannon(std::span<const double> p, std::span<const double> q) {
  double sum = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    const double m = (p[k] + q[k]) / 2;
    if (p[k] > 0) sum += p[k] * std::log(p[k] / m) / 2;
    if (q[k] > 0) sum += q[k] * std::log(q[k] / m) / 2;
  }
  return sum;
}

void add_pairs(const std::vector<HeadMap>& heads, LayerDiagnostics& to) {
  MeanOf similarity, divergence;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    for (std::size_t other = h + 1; other < heads.size(); ++other) {
      similarity.add(cosine(heads[h].raw, heads[other].raw));
      for (std::size_t r = 0; r < heads[h].rows.size(); ++r) {
        const MapRow &row = heads[h].rows[r], &second = heads[other].rows[r];
        if (row.empty || second.empty) continue;
        divergence.add(jensen_shannon(heads[h].shares_of(row), heads[other].shares_of(second)));
      }
    }
  }
  to.head_similarity.add(similarity.value());
  to.head_js.add(divergence.value());
}

// The weights of each head. Throws ShapeError.
std::size_t checked_size(const LayerMap& map, const MapDiagnosticsOptions& o) {
  std::int64_t size = 0;
  bool fits = map.heads >= 1 && !map.parts.empty();
  for (const LayerMap::Part& part : map.parts) {
    fits = fits && part.rows >= 1 && part.keys >= 1 &&
           (map.keys == LayerMap::Keys::kReduced || part.rows == part.keys);
    size += part.rows * part.keys;
  }
  const auto as_large = [&](const std::vector<double>& parts) {
    return parts.empty() || parts.size() == map.values.size();
  };
  fits = fits && (map.keys == LayerMap::Keys::kOfWindow || map.parts.size() == 1) &&
         std::ssize(map.values) == map.heads * size && as_large(map.positive) &&
         map.negative.size() == map.positive.size() &&
         (map.distances.empty() || std::ssize(map.distances) == size);
  FOVEA_CHECK(fits, ShapeError,
              fmt::format("diagnostics: {} values of a map of {} heads; expected {} each, as many "
                          "keys as rows where these are tokens, and parts and distances as large",
                          map.values.size(), map.heads, size));
  const std::int64_t n = map.parts.front().rows;
  FOVEA_CHECK(map.keys != LayerMap::Keys::kAllTokens || (o.sink_token >= 0 && o.sink_token < n),
              ShapeError,
              fmt::format("diagnostics: sink token {} of {} tokens; expected 0 to {}", o.sink_token,
                          n, n - 1));
  return place(size);
}

}  // namespace

LayerMap layer_map(visualise::AttentionMap map) {
  return {.heads = map.heads, .parts = {{map.n, map.n}}, .values = std::move(map.values)};
}

std::vector<double> patch_distances(std::int64_t prefix, std::pair<std::int64_t, std::int64_t> grid,
                                    std::pair<double, double> side) {
  std::vector<std::int64_t> tokens(place(prefix), -1);
  for (std::int64_t patch = 0; patch < grid.first * grid.second; ++patch) tokens.push_back(patch);
  return patch_distances(tokens, grid.second, side);
}

std::vector<double> patch_distances(std::span<const std::int64_t> patches, std::int64_t columns,
                                    std::pair<double, double> side) {
  std::vector<double> all;
  all.reserve(patches.size() * patches.size());
  for (const std::int64_t i : patches) {
    for (const std::int64_t j : patches) {
      const double down = side.first * static_cast<double>(i / columns - j / columns);
      const double across = side.second * static_cast<double>(i % columns - j % columns);
      const bool both = i >= 0 && j >= 0;
      all.push_back(both ? std::hypot(down, across) : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return all;
}

void MapDiagnostics::add(std::size_t layer, const LayerMap& map) {
  const std::size_t size = checked_size(map, options_);
  if (layers_.size() <= layer) layers_.resize(layer + 1);
  LayerDiagnostics& to = layers_[layer];
  if (to.heads.empty()) to.heads.resize(place(map.heads));
  FOVEA_CHECK(std::ssize(to.heads) == map.heads, ShapeError,
              fmt::format("diagnostics: layer {} has {} heads; expected {} as before", layer,
                          map.heads, to.heads.size()));
  std::vector<HeadMap> heads;
  for (std::size_t h = 0; h < to.heads.size(); ++h) {
    heads.push_back(head_map(std::span(map.values).subspan(h * size, size), map.parts));
    const HeadMap& head = heads.back();
    HeadDiagnostics& own = to.heads[h];
    add_entropies(head, options_.causal, own);
    add_sinks(head, map.keys, options_, own);
    add_signs(map, h, size, own);
    if (!map.distances.empty()) own.mean_distance.add(distance_of(head, map.distances));
    if (map.keys == LayerMap::Keys::kOfWindow) continue;
    const std::int64_t rows = map.parts.front().rows;
    own.row_residual.add(explain::row_residual(head.raw, rows));
    if (!options_.ranks || rows > kMostRankTokens) continue;
    const std::vector<double> singular = singular_values(head.raw, rows);
    own.effective_rank.add(explain::effective_rank(singular));
    own.stable_rank.add(explain::stable_rank(singular));
  }
  if (options_.pairs) add_pairs(heads, to);
}

double MapDiagnostics::over_all(MeanOf HeadDiagnostics::*member) const {
  MeanOf mean;
  for (const LayerDiagnostics& layer : layers_) {
    for (const HeadDiagnostics& head : layer.heads) mean.add(head.*member);
  }
  return mean.value();
}

}  // namespace fovea::explain
