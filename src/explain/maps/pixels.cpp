#include "explain/maps/pixels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "explain/maps/tokens.h"

namespace fovea::explain {
namespace {

// Roots of the Legendre polynomial by Newton's method, on [0, 1], ascending.
PathNodes gauss_legendre(std::int64_t n) {
  PathNodes nodes{std::vector<double>(as_index(n)), std::vector<double>(as_index(n))};
  const auto count = static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) {
    double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (count + 0.5));
    double slope = 0;
    for (int step = 0; step < 100; ++step) {
      double before = 0, value = 1;  // P_{k-1}(x), P_k(x)
      for (std::int64_t k = 1; k <= n; ++k) {
        const auto order = static_cast<double>(k);
        const double next = ((2 * order - 1) * x * value - (order - 1) * before) / order;
        before = value;
        value = next;
      }
      slope = count * (x * value - before) / (x * x - 1);
      const double change = value / slope;
      x -= change;
      if (std::abs(change) < 1e-15) break;
    }
    nodes.at[as_index(n - 1 - i)] = (x + 1) / 2;
    nodes.weights[as_index(n - 1 - i)] = 1 / ((1 - x * x) * slope * slope);
  }
  return nodes;
}

}  // namespace

std::vector<double> reduced(const std::vector<double>& values, std::int64_t channels,
                            Reduce reduce) {
  FOVEA_CHECK(channels >= 1 && std::ssize(values) % channels == 0, ShapeError,
              fmt::format("explanation: {} values of {} channels; expected as many in each",
                          values.size(), channels));
  const std::size_t places = values.size() / as_index(channels);
  std::vector<double> result(places, 0.0);
  for (std::size_t first = 0; first < values.size(); first += places) {
    for (std::size_t i = 0; i < places; ++i) {
      const double value = values[first + i];
      switch (reduce) {
        case Reduce::kSum:
          result[i] += value;
          break;
        case Reduce::kAbsSum:
          result[i] += std::abs(value);
          break;
        case Reduce::kAbsMax:
          result[i] = std::max(result[i], std::abs(value));
          break;
        case Reduce::kL2:
          result[i] += value * value;
          break;
      }
    }
  }
  if (reduce == Reduce::kL2) {
    for (double& value : result) value = std::sqrt(value);
  }
  return result;
}

PathNodes path_nodes(PathRule rule, std::int64_t steps) {
  const std::int64_t least = rule == PathRule::kTrapezoid ? 2 : 1;
  FOVEA_CHECK(steps >= least, ConfigError,
              fmt::format("integrated_gradients: steps is {}; expected at least {}", steps, least));
  if (rule == PathRule::kGaussLegendre) return gauss_legendre(steps);
  PathNodes nodes;
  const auto n = static_cast<double>(steps);
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto k = static_cast<double>(i);
    if (rule == PathRule::kTrapezoid) {
      nodes.at.push_back(k / (n - 1));
      nodes.weights.push_back((i == 0 || i + 1 == steps ? 0.5 : 1) / (n - 1));
    } else {
      nodes.at.push_back((k + (rule == PathRule::kMidpoint ? 0.5 : 1)) / n);
      nodes.weights.push_back(1 / n);
    }
  }
  return nodes;
}

std::vector<double> rise_map(const std::vector<double>& masks, const std::vector<double>& scores,
                             double keep) {
  FOVEA_CHECK(!scores.empty() && masks.size() % scores.size() == 0 && keep > 0 && keep <= 1,
              ShapeError,
              fmt::format("rise: {} values of masks for {} scores, keep {}; expected equal masks "
                          "and a share in (0, 1]",
                          masks.size(), scores.size(), keep));
  const std::size_t places = masks.size() / scores.size();
  std::vector<double> map(places, 0.0);
  for (std::size_t k = 0; k < scores.size(); ++k) {
    for (std::size_t i = 0; i < places; ++i) map[i] += scores[k] * masks[k * places + i];
  }
  for (double& value : map) value /= static_cast<double>(scores.size()) * keep;
  return map;
}

}  // namespace fovea::explain
