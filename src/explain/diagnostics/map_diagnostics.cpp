#include "explain/diagnostics/map_diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "explain/diagnostics/singular_values.h"

namespace fovea::explain {
namespace {

// The map of one head: A, and a, whose rows sum to 1 or are 0.
struct HeadMap {
  std::span<const double> raw;
  std::vector<double> shares;
  std::int64_t n = 0;

  double share(std::int64_t i, std::int64_t j) const {
    return shares[static_cast<std::size_t>(i * n + j)];
  }
  std::span<const double> row(std::int64_t i) const {
    return std::span(shares).subspan(static_cast<std::size_t>(i * n), static_cast<std::size_t>(n));
  }
  bool is_empty(std::int64_t i) const {
    return std::ranges::all_of(row(i), [](double v) { return v == 0; });
  }
};

HeadMap head_map(std::span<const double> raw, std::int64_t n) {
  HeadMap head{raw, std::vector<double>(raw.size(), 0.0), n};
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    const auto first = static_cast<std::size_t>(i * n), last = first + static_cast<std::size_t>(n);
    for (std::size_t k = first; k < last; ++k) sum += std::abs(raw[k]);
    if (!(sum > 0)) continue;
    for (std::size_t k = first; k < last; ++k) head.shares[k] = std::abs(raw[k]) / sum;
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
  for (std::int64_t i = 0; i < head.n; ++i) {
    if (head.is_empty(i)) continue;
    const double of_row = entropy_of(head.row(i));
    const std::int64_t keys = causal ? i + 1 : head.n;
    entropy.add(of_row);
    if (keys > 1) relative.add(of_row / std::log(static_cast<double>(keys)));
  }
  to.entropy.add(entropy.value());
  to.relative_entropy.add(relative.value());
}

// The mean of a over the rows that may see the key.
double importance(const HeadMap& head, std::int64_t key, bool causal) {
  MeanOf mean;
  for (std::int64_t i = causal ? key : 0; i < head.n; ++i) {
    if (!head.is_empty(i)) mean.add(head.share(i, key));
  }
  return mean.value();
}

// Mean over the rows of patches, which are made to sum to 1 over patches.
double distance_of(const HeadMap& head, std::int64_t prefix, std::int64_t cols, double patch) {
  MeanOf mean;
  const std::int64_t patches = head.n - prefix;
  for (std::int64_t i = 0; i < patches; ++i) {
    double sum = 0, weighted = 0;
    for (std::int64_t j = 0; j < patches; ++j) {
      const double a = head.share(prefix + i, prefix + j);
      const auto down = static_cast<double>(i / cols - j / cols);
      const auto across = static_cast<double>(i % cols - j % cols);
      sum += a;
      weighted += a * patch * std::sqrt(down * down + across * across);
    }
    if (sum > 0) mean.add(weighted / sum);
  }
  return mean.value();
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
      for (std::int64_t i = 0; i < heads[h].n; ++i) {
        if (heads[h].is_empty(i) || heads[other].is_empty(i)) continue;
        divergence.add(jensen_shannon(heads[h].row(i), heads[other].row(i)));
      }
    }
  }
  to.head_similarity.add(similarity.value());
  to.head_js.add(divergence.value());
}

void check_sizes(const visualise::AttentionMap& map, const MapDiagnosticsOptions& o) {
  FOVEA_CHECK(map.heads >= 1 && map.n >= 1 && std::ssize(map.values) == map.heads * map.n * map.n,
              ShapeError,
              fmt::format("diagnostics: {} values of a map; expected {} heads of {} x {}",
                          map.values.size(), map.heads, map.n, map.n));
  FOVEA_CHECK(o.sink_token >= 0 && o.sink_token < map.n, ShapeError,
              fmt::format("diagnostics: sink token {} of {} tokens; expected 0 to {}", o.sink_token,
                          map.n, map.n - 1));
  if (!o.grid) return;
  const auto& [rows, cols] = *o.grid;
  FOVEA_CHECK(o.prefix_tokens >= 0 && o.prefix_tokens + rows * cols == map.n, ShapeError,
              fmt::format("diagnostics: a map of {} tokens; expected {} + {} x {}", map.n,
                          o.prefix_tokens, rows, cols));
}

}  // namespace

void MapDiagnostics::add(std::size_t layer, const visualise::AttentionMap& map) {
  check_sizes(map, options_);
  if (layers_.size() <= layer) layers_.resize(layer + 1);
  LayerDiagnostics& to = layers_[layer];
  if (to.heads.empty()) to.heads.resize(static_cast<std::size_t>(map.heads));
  FOVEA_CHECK(std::ssize(to.heads) == map.heads, ShapeError,
              fmt::format("diagnostics: layer {} has {} heads; expected {} as before", layer,
                          map.heads, to.heads.size()));
  const auto size = static_cast<std::size_t>(map.n * map.n);
  std::vector<HeadMap> heads;
  for (std::size_t h = 0; h < to.heads.size(); ++h) {
    heads.push_back(head_map(std::span(map.values).subspan(h * size, size), map.n));
    const HeadMap& head = heads.back();
    HeadDiagnostics& own = to.heads[h];
    add_entropies(head, options_.causal, own);
    double largest = std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t key = 0; key < map.n; ++key)
      largest = std::fmax(largest, importance(head, key, options_.causal));
    own.importance_max.add(largest);
    if (!std::isnan(largest)) {
      const double of_sink = importance(head, options_.sink_token, options_.causal);
      sink_any_.add(largest > options_.sink_threshold ? 1 : 0);
      sink_rate_.add(of_sink > options_.sink_threshold ? 1 : 0);
      first_token_share_.add(importance(head, 0, options_.causal));
    }
    if (options_.ranks) {
      const std::vector<double> singular = singular_values(head.raw, map.n);
      own.effective_rank.add(explain::effective_rank(singular));
      own.stable_rank.add(explain::stable_rank(singular));
    }
    own.row_residual.add(explain::row_residual(head.raw, map.n));
    if (options_.grid)
      own.mean_distance.add(
          distance_of(head, options_.prefix_tokens, options_.grid->second, options_.patch));
  }
  add_pairs(heads, to);
}

}  // namespace fovea::explain
