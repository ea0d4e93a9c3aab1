#include "attention/rotary.h"

#include <fmt/format.h>

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

}  // namespace fovea::attention
