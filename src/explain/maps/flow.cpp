#include "explain/maps/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace fovea::explain {
namespace {

// Maximum flows from one source to one sink by Dinic's algorithm.
class FlowGraph {
 public:
  explicit FlowGraph(std::int64_t nodes) : edges_of_(as_index(nodes)) {}

  void add(std::int64_t from, std::int64_t to, double capacity) {
    edges_of_[as_index(from)].push_back(edges_.size());
    edges_.push_back({to, capacity});
    edges_of_[as_index(to)].push_back(edges_.size());
    edges_.push_back({from, 0});
  }

  double flow(std::int64_t source, std::int64_t sink) const {
    FlowGraph rest = *this;
    double total = 0;
    while (rest.find_levels(source, sink)) {
      rest.next_.assign(rest.edges_of_.size(), 0);
      while (const double pushed = rest.push(source, sink, std::numeric_limits<double>::infinity()))
        total += pushed;
    }
    return total;
  }

 private:
  // What is left of a capacity below this is rounding.
  static constexpr double kNothing = 1e-15;

  struct Edge {
    std::int64_t to;
    double left;
  };

  bool find_levels(std::int64_t source, std::int64_t sink) {
    level_.assign(edges_of_.size(), -1);
    level_[as_index(source)] = 0;
    std::vector<std::int64_t> queue{source};
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (const std::size_t e : edges_of_[as_index(queue[next])]) {
        const Edge& edge = edges_[e];
        if (edge.left <= kNothing || level_[as_index(edge.to)] >= 0) continue;
        level_[as_index(edge.to)] = level_[as_index(queue[next])] + 1;
        queue.push_back(edge.to);
      }
    }
    return level_[as_index(sink)] >= 0;
  }

  double push(std::int64_t node, std::int64_t sink, double most) {
    if (node == sink) return most;
    for (std::size_t& i = next_[as_index(node)]; i < edges_of_[as_index(node)].size(); ++i) {
      const std::size_t e = edges_of_[as_index(node)][i];
      const std::int64_t to = edges_[e].to;
      if (edges_[e].left <= kNothing || level_[as_index(to)] != level_[as_index(node)] + 1)
        continue;
      const double pushed = push(to, sink, std::min(most, edges_[e].left));
      if (pushed == 0) continue;
      edges_[e].left -= pushed;
      edges_[e ^ 1].left += pushed;
      return pushed;
    }
    return 0;
  }

  std::vector<Edge> edges_;  // an edge and the way back beside each other
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<std::int64_t> level_;
  std::vector<std::size_t> next_;
};

}  // namespace

AttentionFlow attention_flow(std::span<const visualise::AttentionMap> layers,
                             const TokenLayout& layout) {
  FOVEA_CHECK(!layers.empty(), ShapeError, "attention_flow: no maps; expected one per layer");
  const std::int64_t n = layers.front().n, depth = std::ssize(layers);
  const auto node = [&](std::int64_t layer, std::int64_t token) { return layer * n + token; };
  FlowGraph graph((depth + 1) * n + 1);
  for (std::int64_t l = 0; l < depth; ++l) {
    const auto& [heads, tokens, values] = layers[as_index(l)];
    FOVEA_CHECK(tokens == n, ShapeError,
                fmt::format("attention_flow: layer {} has {} tokens, the first {}", l, tokens, n));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double mean = 0;
        for (std::int64_t h = 0; h < heads; ++h) {
          const double weight = values[as_index((h * n + i) * n + j)];
          FOVEA_CHECK(weight >= 0, ConfigError,
                      fmt::format("attention_flow: is not defined for signed maps; layer {} has a "
                                  "weight of {}",
                                  l, weight));
          mean += weight;
        }
        mean /= static_cast<double>(heads);
        graph.add(node(l + 1, i), node(l, j), (mean + (i == j ? 1 : 0)) / 2);
      }
    }
  }
  std::int64_t source = node(depth, 0);
  if (layout.pooling == Pooling::kMean) {
    source = (depth + 1) * n;
    for (std::int64_t i = 0; i < n; ++i)
      graph.add(source, node(depth, i), 1 / static_cast<double>(n));
  }
  AttentionFlow flow;
  double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    flow.values.push_back(graph.flow(source, node(0, j)));
    sum += flow.values.back();
  }
  flow.relevance = behind_prefix(flow.values, layout);
  for (double& value : flow.relevance) value /= sum;
  return flow;
}

}  // namespace fovea::explain
