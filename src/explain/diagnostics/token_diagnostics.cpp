#include "explain/diagnostics/token_diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "explain/diagnostics/mean_of.h"
#include "explain/diagnostics/singular_values.h"
#include "metrics/statistics.h"

namespace fovea::explain {
namespace {

// The sum over pairs of products of unit vectors is (|sum|^2 - sum of squares) / 2.
double mean_cosine(std::span<const double> tokens, const std::vector<double>& norms,
                   std::size_t dim) {
  std::vector<double> sum(dim, 0.0);
  double ones = 0;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    if (norms[i] == 0) continue;
    ones += 1;
    for (std::size_t c = 0; c < dim; ++c) sum[c] += tokens[i * dim + c] / norms[i];
  }
  double squares = 0;
  for (const double s : sum) squares += s * s;
  const auto n = static_cast<double>(norms.size());
  if (norms.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  return (squares - ones) / (n * (n - 1));
}

}  // namespace

TokenDiagnostics diagnose_tokens(std::span<const double> tokens, std::int64_t n,
                                 const TokenDiagnosticsOptions& options) {
  FOVEA_CHECK(n >= 1 && std::ssize(tokens) % n == 0 && tokens.size() >= 3, ShapeError,
              fmt::format("diagnostics: {} values of {} tokens; expected (n, dim) with at least "
                          "three values",
                          tokens.size(), n));
  FOVEA_CHECK(std::ranges::all_of(tokens, [](double v) { return std::isfinite(v); }), NumericError,
              "diagnostics: tokens are not finite");
  const std::size_t dim = tokens.size() / static_cast<std::size_t>(n);
  std::vector<double> norms, sizes;
  for (std::size_t i = 0; i < tokens.size(); i += dim) {
    double squares = 0;
    for (std::size_t c = 0; c < dim; ++c) squares += tokens[i + c] * tokens[i + c];
    norms.push_back(std::sqrt(squares));
  }
  for (const double value : tokens) sizes.push_back(std::abs(value));

  TokenDiagnostics found;
  found.similarity = mean_cosine(tokens, norms, dim);
  found.residual = row_residual(tokens, n);
  found.median_norm = metrics::median(norms);
  found.max_norm = *std::ranges::max_element(norms);
  found.ratio = found.max_norm / found.median_norm;
  const double high = options.absolute.value_or(options.factor * found.median_norm);
  found.high_norm = std::ranges::count_if(norms, [&](double norm) { return norm > high; });
  const double massive = 1000 * metrics::median(sizes);
  found.massive =
      std::ranges::count_if(sizes, [&](double size) { return size > 100 && size >= massive; });
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + 3, order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b;
                    });
  for (std::size_t k = 0; k < found.top.size(); ++k)
    found.top[k] = {static_cast<std::int64_t>(order[k] / dim),
                    static_cast<std::int64_t>(order[k] % dim), tokens[order[k]]};
  return found;
}

}  // namespace fovea::explain
