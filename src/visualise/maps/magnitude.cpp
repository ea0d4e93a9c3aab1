#include "visualise/maps/magnitude.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"
#include "tensor/random.h"
#include "visualise/maps/rollouts/rollout.h"
#include "visualise/plots/plot.h"

namespace fovea::visualise {
namespace {

using Numbers = std::vector<double>;

// q k^T for all keys.
Numbers products(std::span<const double> q, std::span<const double> keys) {
  Numbers result(keys.size() / q.size());
  for (std::size_t j = 0; j < result.size(); ++j)
    result[j] = std::inner_product(q.begin(), q.end(),
                                   keys.begin() + static_cast<std::ptrdiff_t>(j * q.size()), 0.0);
  return result;
}

double sum_of(const Numbers& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

Numbers times(const Numbers& values, double factor) {
  Numbers result = values;
  for (double& value : result) value *= factor;
  return result;
}

// ELU + 1.
Numbers features(const Numbers& values) {
  Numbers result = values;
  for (double& value : result) value = value > 0 ? value + 1 : std::exp(value);
  return result;
}

// The closest to the query first: softmax keeps the order of the products.
Numbers sorted_keys(const QueryAndKeys& of) {
  const Numbers close = products(of.query, of.keys);
  std::vector<std::size_t> order(close.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return close[a] > close[b]; });
  Numbers keys;
  const auto dim = static_cast<std::ptrdiff_t>(of.query.size());
  for (const std::size_t j : order) {
    const auto first = of.keys.begin() + static_cast<std::ptrdiff_t>(j) * dim;
    keys.insert(keys.end(), first, first + dim);
  }
  return keys;
}

}  // namespace

std::vector<double> softmax_scores(std::span<const double> q, std::span<const double> keys) {
  Numbers scores = times(products(q, keys), 1 / std::sqrt(static_cast<double>(q.size())));
  const double most = *std::max_element(scores.begin(), scores.end());
  for (double& score : scores) score = std::exp(score - most);
  return times(scores, 1 / sum_of(scores));
}

std::vector<double> linear_scores(std::span<const double> q, std::span<const double> keys) {
  const Numbers sim = products(q, keys);
  return times(sim, 1 / sum_of(sim));
}

std::vector<double> mala_scores(std::span<const double> q, std::span<const double> keys) {
  Numbers sim = products(q, keys);
  const auto n = static_cast<double>(sim.size());
  sim = times(sim, 1 / std::sqrt(static_cast<double>(q.size())) / n);
  const double z = sum_of(sim);
  const double beta = 1 + 1 / z, gamma = z / n;
  for (double& score : sim) score = beta * score - gamma;
  return sim;
}

QueryAndKeys drawn_query(const MagnitudeSettings& s) {
  FOVEA_CHECK(
      s.keys >= 2 && s.dim >= 1, ConfigError,
      fmt::format("magnitude: {} keys of {} dimensions; expected at least 2 and 1", s.keys, s.dim));
  const RandomStream stream(s.seed);
  const auto normal = [](const RandomStream& from, std::int64_t count, double std) {
    Numbers values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(std * from.normal(static_cast<std::uint64_t>(i)));
    return values;
  };
  const Numbers u = normal(stream.fork("direction"), s.dim, 1);
  const double length = std::sqrt(std::inner_product(u.begin(), u.end(), u.begin(), 0.0));
  return {times(u, 1 / length), normal(stream.fork("keys"), s.keys * s.dim, s.key_std)};
}

std::vector<MagnitudeResponse> magnitude_responses(const QueryAndKeys& of,
                                                   const std::vector<double>& factors) {
  FOVEA_CHECK(!factors.empty() && *std::min_element(factors.begin(), factors.end()) > 0,
              ConfigError, "magnitude: expected factors above 0");
  const Numbers& u = of.query;
  const Numbers keys = sorted_keys(of), phi_k = features(keys), phi_u = features(u);
  const std::vector<std::pair<const char*, std::function<Numbers(double)>>> mechanisms = {
      {"softmax", [&](double a) { return softmax_scores(times(u, a), keys); }},
      {"linear, φ(a u)", [&](double a) { return linear_scores(features(times(u, a)), phi_k); }},
      {"linear, a φ(u)", [&](double a) { return linear_scores(times(phi_u, a), phi_k); }},
      {"MALA, a φ(u)", [&](double a) { return mala_scores(times(phi_u, a), phi_k); }}};
  std::vector<MagnitudeResponse> responses;
  for (const auto& [name, scores_of] : mechanisms) {
    for (const double factor : factors) {
      MagnitudeResponse response{name, factor, scores_of(factor)};
      response.entropy = summarise(response.scores).entropy;
      const auto [least, most] =
          std::minmax_element(response.scores.begin(), response.scores.end());
      response.minimum = *least;
      response.maximum = *most;
      responses.push_back(std::move(response));
    }
  }
  return responses;
}

std::string magnitude_csv(const std::vector<MagnitudeResponse>& responses) {
  std::string text = "mechanism,factor,entropy,maximum,key,score\n";
  for (const MagnitudeResponse& r : responses) {
    for (std::size_t j = 0; j < r.scores.size(); ++j) {
      text += fmt::format("{},{},{},{},{},{}\n", csv_field(r.mechanism), r.factor, r.entropy,
                          r.maximum, j + 1, r.scores[j]);
    }
  }
  return text;
}

void write_magnitude(const std::filesystem::path& path,
                     const std::vector<MagnitudeResponse>& responses) {
  check_plot_path(path);
  // Panels of one mechanism have one axis, so that bars can be compared.
  std::vector<LinePlot> plots;
  std::int64_t columns = 0;
  for (const MagnitudeResponse& r : responses) {
    LinePlot plot;
    plot.width = 300;
    plot.height = 240;
    plot.title = fmt::format("{}, a = {}", r.mechanism, r.factor);
    plot.x_label = fmt::format("key; entropy {:.3f}, maximum {:.3f}", r.entropy, r.maximum);
    plot.y_label = "score";
    Series& bars = plot.series.emplace_back();
    bars.bars = true;
    double low = 0, high = 0;
    for (const MagnitudeResponse& other : responses) {
      if (other.mechanism != r.mechanism) continue;
      low = std::min(low, other.minimum);
      high = std::max(high, other.maximum);
    }
    for (std::size_t j = 0; j < r.scores.size(); ++j) {
      bars.x.push_back(static_cast<double>(j + 1));
      bars.y.push_back(r.scores[j]);
    }
    plot.y_low = 1.05 * low;
    plot.y_high = 1.05 * high;
    if (r.mechanism == responses.front().mechanism) ++columns;
    plots.push_back(std::move(plot));
  }
  write_plots(path, plots, columns);
  std::filesystem::path csv = path;
  io::write_atomic(csv.replace_extension(".csv"), magnitude_csv(responses));
}

}  // namespace fovea::visualise
