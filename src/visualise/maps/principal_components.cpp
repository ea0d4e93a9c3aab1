#include "visualise/maps/principal_components.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <xtensor-blas/xlinalg.hpp>
#include <xtensor/xsort.hpp>

#include "base/error.h"
#include "tensor/xtensor.h"

namespace fovea::visualise {
namespace {

using List = xt::xtensor<double, 1>;
using Table = xt::xtensor<double, 2>;

Matrix matrix_of(const Table& x) {
  return {static_cast<std::int64_t>(x.shape(0)),
          static_cast<std::int64_t>(x.shape(1)),
          {x.begin(), x.end()}};
}

// 1 or -1: what makes the first of an axis' largest entries positive.
double direction_of(const List& axis) {
  const double least = (1 - 1e-6) * xt::amax(xt::abs(axis))();
  const auto first =
      std::find_if(axis.begin(), axis.end(), [&](double v) { return std::abs(v) >= least; });
  return *first < 0 ? -1 : 1;
}

}  // namespace

PrincipalComponents principal_components(const Tensor& vectors, std::int64_t count) {
  const auto x = as_xtensor<const double, 2>(vectors);
  const std::int64_t n = vectors.size(0), dim = vectors.size(1);
  FOVEA_CHECK(n >= 2 && count >= 1 && dim >= count, ShapeError,
              fmt::format("principal components: {} of {} vectors of {} channels; expected two "
                          "vectors or more and no fewer channels than components",
                          count, n, dim));
  const List mean = xt::mean(x, {0});
  const Table centred = x - mean;
  FOVEA_CHECK(xt::all(xt::isfinite(centred)), NumericError,
              "principal components: vectors are not finite");
  const Table covariance =
      xt::linalg::dot(xt::transpose(centred), centred) / static_cast<double>(n - 1);
  const auto [variances, directions] = xt::linalg::eigh(covariance);  // ascending; in columns
  const double total = xt::sum(variances)();

  PrincipalComponents found;
  Table axes = Table::from_shape({static_cast<std::size_t>(count), static_cast<std::size_t>(dim)});
  for (std::int64_t k = 0; k < count; ++k) {
    const List axis = xt::col(directions, dim - 1 - k);
    xt::row(axes, k) = direction_of(axis) * axis;
    found.variances.push_back(std::max(variances(dim - 1 - k), 0.0));
    found.shares.push_back(total > 0 ? found.variances.back() / total : 0.0);
  }
  Table scores = xt::linalg::dot(centred, xt::transpose(axes));
  for (std::int64_t k = 0; k < count; ++k) {
    if (found.shares[static_cast<std::size_t>(k)] < 1e-12) xt::col(scores, k) = 0;
  }
  found.axes = matrix_of(axes);
  found.scores = matrix_of(scores);
  return found;
}

Matrix component_colours(const Matrix& scores, double outside) {
  Table colours = as_xtensor(std::span(scores.values), {scores.rows, scores.cols});
  const auto last = static_cast<double>(scores.rows - 1);
  for (std::int64_t k = 0; k < scores.cols; ++k) {
    auto column = xt::col(colours, k);
    const List sorted = xt::sort(List(column));
    const double low = sorted(static_cast<std::size_t>(std::floor(outside * last)));
    const double high = sorted(static_cast<std::size_t>(std::ceil((1 - outside) * last)));
    if (high > low) {
      column = xt::clip((column - low) / (high - low), 0.0, 1.0);
    } else {
      column = 0.5;
    }
  }
  return matrix_of(colours);
}

}  // namespace fovea::visualise
