#include "explain/maps/values.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace fovea::explain {
namespace {

double weight_of(const HeadValues& x, std::int64_t h, std::int64_t i, std::int64_t j) {
  return x.map[as_index((h * x.rows + i) * x.keys + j)];
}

double value_of(const HeadValues& x, std::int64_t h, std::int64_t j, std::int64_t c) {
  return x.values[as_index((h * x.keys + j) * x.width + c)];
}

// u_i of head h.
std::vector<double> result_of(const HeadValues& x, std::int64_t h, std::int64_t i) {
  std::vector<double> u(as_index(x.width), 0.0);
  for (std::int64_t j = 0; j < x.keys; ++j) {
    for (std::int64_t c = 0; c < x.width; ++c)
      u[as_index(c)] += weight_of(x, h, i, j) * value_of(x, h, j, c);
  }
  return u;
}

// What a row of a head is multiplied by behind its norm: (heads, rows).
std::vector<double> row_factors(const HeadValues& x) {
  std::vector<double> factors(as_index(x.heads * x.rows), 1.0);
  if (!x.norm) return factors;
  for (std::int64_t h = 0; h < x.heads; ++h) {
    for (std::int64_t i = 0; i < x.rows; ++i) {
      double squares = 0;
      for (const double u : result_of(x, h, i)) squares += u * u;
      factors[as_index(h * x.rows + i)] =
          x.factor / std::sqrt(squares / static_cast<double>(x.width) + x.norm_eps);
    }
  }
  return factors;
}

// W_O^h (w o v_j): (heads, keys, dim).
std::vector<double> projected(const HeadValues& x) {
  const std::int64_t heads = x.heads, keys = x.keys, dim = x.dim();
  std::vector<double> result(as_index(heads * keys * dim), 0.0);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t j = 0; j < keys; ++j) {
      for (std::int64_t d = 0; d < dim; ++d) {
        double sum = 0;
        for (std::int64_t c = 0; c < x.width; ++c) {
          const double w = x.norm_weight.empty() ? 1 : x.norm_weight[as_index(c)];
          sum += x.proj[as_index((d * heads + h) * x.width + c)] * w * value_of(x, h, j, c);
        }
        result[as_index((h * keys + j) * dim + d)] = sum;
      }
    }
  }
  return result;
}

void check(const HeadValues& x) {
  const bool fits = x.heads >= 1 && x.width >= 1 && x.rows >= 1 && x.keys >= 1 &&
                    x.map.size() == as_index(x.heads * x.rows * x.keys) &&
                    x.values.size() == as_index(x.heads * x.keys * x.width) && !x.proj.empty() &&
                    x.proj.size() % as_index(x.heads * x.width) == 0 &&
                    (x.norm_weight.empty() || std::ssize(x.norm_weight) == x.width);
  FOVEA_CHECK(
      fits, ShapeError,
      fmt::format("value norms: {} heads of {} channels, {} tokens and {} keys, with {} "
                  "weights, {} values and a projection of {} numbers do not fit together",
                  x.heads, x.width, x.rows, x.keys, x.map.size(), x.values.size(), x.proj.size()));
}

// Calls each(i, j, vector) with sum_h A_ij^h f_ij^h, row by row; `row` comes before the rows with
// their sum o_i.
template <class Each>
void for_additions(const HeadValues& x, Each each) {
  const std::int64_t keys = x.keys, dim = x.dim();
  const std::vector<double> f = projected(x), factors = row_factors(x);
  std::vector<double> added(as_index(keys * dim)), sum(as_index(dim));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    added.assign(added.size(), 0.0);
    sum.assign(sum.size(), 0.0);
    for (std::int64_t h = 0; h < x.heads; ++h) {
      for (std::int64_t j = 0; j < keys; ++j) {
        const double a = weight_of(x, h, i, j) * factors[as_index(h * x.rows + i)];
        for (std::int64_t d = 0; d < dim; ++d)
          added[as_index(j * dim + d)] += a * f[as_index((h * keys + j) * dim + d)];
      }
    }
    for (std::int64_t j = 0; j < keys; ++j) {
      for (std::int64_t d = 0; d < dim; ++d) sum[as_index(d)] += added[as_index(j * dim + d)];
    }
    each(i, added, sum);
  }
}

double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

std::int64_t HeadValues::dim() const { return std::ssize(proj) / (heads * width); }

std::vector<double> head_norms(const HeadValues& x) {
  check(x);
  const std::int64_t dim = x.dim();
  const std::vector<double> f = projected(x), factors = row_factors(x);
  std::vector<double> norms(x.map.size());
  for (std::int64_t h = 0; h < x.heads; ++h) {
    for (std::int64_t j = 0; j < x.keys; ++j) {
      const double* column = f.data() + (h * x.keys + j) * dim;
      const double length = std::sqrt(dot(column, column, dim));
      for (std::int64_t i = 0; i < x.rows; ++i)
        norms[as_index((h * x.rows + i) * x.keys + j)] =
            std::abs(weight_of(x, h, i, j) * factors[as_index(h * x.rows + i)]) * length;
    }
  }
  return norms;
}

Matrix summed_norms(const HeadValues& x) {
  check(x);
  const std::int64_t dim = x.dim();
  Matrix norms{x.rows, x.keys, std::vector<double>(as_index(x.rows * x.keys))};
  for_additions(x, [&](std::int64_t i, const std::vector<double>& added, const auto&) {
    for (std::int64_t j = 0; j < x.keys; ++j) {
      const double* one = added.data() + j * dim;
      norms.at(i, j) = std::sqrt(dot(one, one, dim));
    }
  });
  return norms;
}

Matrix contributions(const HeadValues& x) {
  check(x);
  const std::int64_t dim = x.dim();
  Matrix shares{x.rows, x.keys, std::vector<double>(as_index(x.rows * x.keys), 0.0)};
  for_additions(x, [&](std::int64_t i, const std::vector<double>& added, const auto& sum) {
    const double length = dot(sum.data(), sum.data(), dim);
    for (std::int64_t j = 0; length > 0 && j < x.keys; ++j)
      shares.at(i, j) = dot(added.data() + j * dim, sum.data(), dim) / length;
  });
  return shares;
}

std::vector<double> head_contributions(const HeadValues& x) {
  check(x);
  std::vector<double> shares(x.map.size(), 0.0);
  std::vector<double> squares(as_index(x.width), 1.0);  // of the norm's weight
  for (std::size_t c = 0; c < x.norm_weight.size(); ++c)
    squares[c] = x.norm_weight[c] * x.norm_weight[c];
  for (std::int64_t h = 0; h < x.heads; ++h) {
    for (std::int64_t i = 0; i < x.rows; ++i) {
      std::vector<double> u = result_of(x, h, i);
      double length = 0;
      for (std::size_t c = 0; c < u.size(); ++c) {
        length += u[c] * u[c] * squares[c];
        u[c] *= squares[c];
      }
      for (std::int64_t j = 0; length > 0 && j < x.keys; ++j) {
        const double* v = x.values.data() + (h * x.keys + j) * x.width;
        shares[as_index((h * x.rows + i) * x.keys + j)] =
            weight_of(x, h, i, j) * dot(v, u.data(), x.width) / length;
      }
    }
  }
  return shares;
}

Matrix rollout_step(Matrix norms) {
  for (std::int64_t i = 0; i < norms.rows; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < norms.cols; ++j) sum += norms.at(i, j);
    for (std::int64_t j = 0; j < norms.cols; ++j) {
      const double share = sum == 0 ? 0 : norms.at(i, j) / sum;
      norms.at(i, j) = (share + (i == j ? 1 : 0)) / 2;
    }
  }
  return norms;
}

}  // namespace fovea::explain
