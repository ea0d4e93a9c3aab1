// Depthwise convolution of tokens (ops/convolution.h).
#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "base/error.h"
#include "ops/convolution.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

void check(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t h,
           std::int64_t w) {
  FOVEA_CHECK(x.rank() == 3 && h >= 1 && w >= 1 && x.size(1) == h * w, ShapeError,
              fmt::format("token_conv: x is {}, the grid {} x {}; expected (b, h w, c)",
                          to_string(x.shape()), h, w));
  const DType dtype = compute_dtype(x.dtype());
  const std::int64_t c = x.size(2);
  const bool fits = weight.rank() == 4 && weight.size(0) == c && weight.size(1) == 1 &&
                    weight.size(2) % 2 == 1 && weight.size(3) % 2 == 1 && weight.dtype() == dtype;
  FOVEA_CHECK(fits, ShapeError,
              fmt::format("token_conv: weight is {} {}; expected {} ({}, 1, odd, odd)",
                          name_of(weight.dtype()), to_string(weight.shape()), name_of(dtype), c));
  FOVEA_CHECK(!bias.defined() || (bias.shape() == Shape{c} && bias.dtype() == dtype), ShapeError,
              fmt::format("token_conv: bias is {} {}; expected {} ({})", name_of(bias.dtype()),
                          to_string(bias.shape()), name_of(dtype), c));
}

}  // namespace

Tensor token_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t h,
                  std::int64_t w) {
  check(x, weight, bias, h, w);
  const Shape grid{x.size(0), h, w, x.size(2)};
  Op op("token_conv", {x, weight, bias});
  Tensor y = Tensor::empty_like(x);
  backend(x).token_conv({.x = x.alias(grid), .weight = weight, .bias = bias, .y = y.alias(grid)});
  op.macs(y.numel() * weight.size(2) * weight.size(3));
  return op.output(y,
                   [=, x = op.keep(x), weight = op.keep(weight)](const Tensor& dy, Gradients& in) {
                     Tensor dx = in.empty(0);
                     Tensor dweight = in.empty(1);
                     Tensor dbias = in.empty(2);
                     backend(dy).token_conv_backward({.x = x.alias(grid),
                                                      .weight = weight,
                                                      .dy = dy.alias(grid),
                                                      .dx = dx.defined() ? dx.alias(grid) : dx,
                                                      .dweight = dweight,
                                                      .dbias = dbias});
                     in.add(0, std::move(dx));
                     in.add(1, std::move(dweight));
                     in.add(2, std::move(dbias));
                   });
}

}  // namespace fovea::ops
