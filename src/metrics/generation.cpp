#include "metrics/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <xtensor-blas/xlinalg.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include "base/error.h"
#include "tensor/host.h"

namespace fovea::metrics {
namespace {

using Square = xt::xtensor<double, 2>;

Square square_of(const std::vector<double>& values) {
  const auto d = static_cast<std::size_t>(std::llround(std::sqrt(values.size())));
  Square matrix = Square::from_shape({d, d});
  std::copy(values.begin(), values.end(), matrix.begin());
  return matrix;
}

// The root of a symmetric matrix without negative eigenvalues.
Square root_of(const Square& matrix) {
  const auto [values, vectors] = xt::linalg::eigh(matrix);  // vectors in columns
  Square scaled = vectors;
  for (std::size_t c = 0; c < scaled.shape(1); ++c) {
    const double root = std::sqrt(std::max(0.0, static_cast<double>(values(c))));
    for (std::size_t r = 0; r < scaled.shape(0); ++r) scaled(r, c) *= root;
  }
  return xt::linalg::dot(scaled, xt::transpose(vectors));
}

// Each row's probabilities.
void to_probabilities(std::vector<double>& logits, std::size_t classes) {
  for (std::size_t row = 0; row < logits.size(); row += classes) {
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(row);
    const auto last = first + static_cast<std::ptrdiff_t>(classes);
    const double most = *std::max_element(first, last);
    double sum = 0;
    for (auto p = first; p != last; ++p) sum += * p = std::exp(*p - most);
    for (auto p = first; p != last; ++p) *p /= sum;
  }
}

}  // namespace

FeatureStatistics feature_statistics(const Tensor& features) {
  FOVEA_CHECK(features.rank() == 2 && features.size(0) >= 2, ShapeError,
              fmt::format("feature_statistics: features are {}; expected (n, d) with at least two "
                          "rows",
                          to_string(features.shape())));
  std::vector<double> rows = host_doubles(features);
  const auto n = static_cast<std::size_t>(features.size(0));
  const auto d = static_cast<std::size_t>(features.size(1));
  FeatureStatistics result{features.size(0), std::vector<double>(d, 0.0),
                           std::vector<double>(d * d, 0.0)};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < d; ++c) result.mean[c] += rows[i * d + c];
  }
  for (double& mean : result.mean) mean /= static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = rows.data() + i * d;
    for (std::size_t c = 0; c < d; ++c) row[c] -= result.mean[c];
    for (std::size_t a = 0; a < d; ++a) {
      double* const sums = result.covariance.data() + a * d;
      const double own = row[a];
      for (std::size_t b = a; b < d; ++b) sums[b] += own * row[b];
    }
  }
  for (std::size_t a = 0; a < d; ++a) {
    for (std::size_t b = a; b < d; ++b) {
      const double value = result.covariance[a * d + b] / static_cast<double>(n - 1);
      result.covariance[a * d + b] = result.covariance[b * d + a] = value;
    }
  }
  return result;
}

double frechet_distance(const FeatureStatistics& a, const FeatureStatistics& b) {
  FOVEA_CHECK(a.mean.size() == b.mean.size() && !a.mean.empty(), ShapeError,
              fmt::format("frechet_distance: features of {} and of {} values; expected as many",
                          a.mean.size(), b.mean.size()));
  const Square first = square_of(a.covariance), second = square_of(b.covariance);
  double distance = 0;
  for (std::size_t c = 0; c < a.mean.size(); ++c) {
    const double difference = a.mean[c] - b.mean[c];
    distance += difference * difference + first(c, c) + second(c, c);
  }
  const Square root = root_of(first);
  Square middle = xt::linalg::dot(Square(xt::linalg::dot(root, second)), root);
  middle = Square((middle + xt::transpose(middle)) / 2);  // symmetric but for rounding
  const xt::xtensor<double, 1> values = xt::linalg::eigvalsh(middle);
  for (const double value : values) distance -= 2 * std::sqrt(std::max(0.0, value));
  return std::max(0.0, distance);
}

InceptionScore inception_score(const Tensor& logits, std::int64_t splits) {
  FOVEA_CHECK(logits.rank() == 2 && logits.size(1) >= 1 && splits >= 1 && logits.size(0) >= splits,
              ShapeError,
              fmt::format("inception_score: logits are {} for {} parts; expected (n, classes) with "
                          "at least as many rows",
                          to_string(logits.shape()), splits));
  std::vector<double> p = host_doubles(logits);
  const auto classes = static_cast<std::size_t>(logits.size(1));
  to_probabilities(p, classes);
  std::vector<double> scores;
  for (std::int64_t part = 0; part < splits; ++part) {
    const auto first = static_cast<std::size_t>(part * logits.size(0) / splits);
    const auto last = static_cast<std::size_t>((part + 1) * logits.size(0) / splits);
    const auto rows = static_cast<double>(last - first);
    std::vector<double> marginal(classes, 0.0);
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t c = 0; c < classes; ++c) marginal[c] += p[i * classes + c] / rows;
    }
    double divergence = 0;
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t c = 0; c < classes; ++c) {
        const double own = p[i * classes + c];
        if (own > 0) divergence += own * std::log(own / marginal[c]);
      }
    }
    scores.push_back(std::exp(divergence / rows));
  }
  InceptionScore result;
  for (const double score : scores) result.mean += score / static_cast<double>(splits);
  double squares = 0;
  for (const double score : scores) squares += (score - result.mean) * (score - result.mean);
  result.std = std::sqrt(squares / static_cast<double>(splits));
  return result;
}

}  // namespace fovea::metrics
