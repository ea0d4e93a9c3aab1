#include "attention/rotary.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::attention {

Tensor rotate_pairs(const Tensor& x, std::int64_t head_dim, const Tensor& cos, const Tensor& sin) {
  const std::int64_t half = head_dim / 2;
  const Shape table{x.size(1), half};
  FOVEA_CHECK(
      head_dim % 2 == 0 && cos.shape() == table && sin.shape() == table, ShapeError,
      fmt::format("rotary: cos is {}, sin {}; expected {} for heads of {}", to_string(cos.shape()),
                  to_string(sin.shape()), to_string(table), head_dim));
  const std::int64_t heads = x.size(-1) / head_dim;
  const Tensor pairs = ops::reshape(x, {x.size(0), x.size(1), heads, half, 2});
  const Tensor a = ops::slice(pairs, -1, 0, 1);
  const Tensor b = ops::slice(pairs, -1, 1, 1);
  const Tensor c = ops::reshape(cos, {x.size(1), 1, half, 1});
  const Tensor s = ops::reshape(sin, {x.size(1), 1, half, 1});
  const Tensor rotated = ops::concat(
      {ops::sub(ops::mul(a, c), ops::mul(b, s)), ops::add(ops::mul(a, s), ops::mul(b, c))}, -1);
  return ops::reshape(rotated, x.shape());
}

Rotary::Rotary(std::optional<double> base, std::int64_t head_dim)
    : base_(base), head_dim_(head_dim) {
  FOVEA_CHECK(!base || head_dim % 2 == 0, ConfigError,
              fmt::format("attention.rope_base: heads of {} channels are no pairs", head_dim));
}

void Rotary::make_tables(std::int64_t n, const Tensor& like) {
  const DType dtype = compute_dtype(like.dtype());
  const Shape shape{n, head_dim_ / 2};
  if (cos_.defined() && cos_.shape() == shape && cos_.dtype() == dtype &&
      cos_.device().is(like.device()))
    return;
  std::vector<double> angles(static_cast<std::size_t>(shape.numel()));
  for (std::int64_t position = 0; position < n; ++position) {
    for (std::int64_t pair = 0; pair < shape[1]; ++pair) {
      const double rate =
          std::pow(*base_, -2.0 * static_cast<double>(pair) / static_cast<double>(head_dim_));
      angles[static_cast<std::size_t>(position * shape[1] + pair)] =
          static_cast<double>(position) * rate;
    }
  }
  // In float64: the angles of far tokens have no digits to lose.
  const auto table = [&](double (*f)(double)) {
    std::vector<double> values(angles.size());
    for (std::size_t i = 0; i < angles.size(); ++i) values[i] = f(angles[i]);
    return ops::cast(Tensor::from(values, shape, like.device()), dtype);
  };
  cos_ = table([](double angle) { return std::cos(angle); });
  sin_ = table([](double angle) { return std::sin(angle); });
}

Tensor Rotary::operator()(const Tensor& x, const Context& context) {
  if (context.rope_cos.defined())
    return rotate_pairs(x, head_dim_, context.rope_cos, context.rope_sin);
  if (!base_) return x;
  make_tables(x.size(1), x);
  return rotate_pairs(x, head_dim_, cos_, sin_);
}

}  // namespace fovea::attention
