// Depthwise convolution of tokens (ops/conv/convolution.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "base/error.h"
#include "ops/conv/convolution.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

void check(const Tensor& x, const Tensor& weight, const Tensor& bias, const Sizes& grid) {
  const bool three = grid.size() == 3;
  std::int64_t tokens = 1;
  for (const std::int64_t size : grid) tokens *= std::max<std::int64_t>(0, size);
  FOVEA_CHECK((grid.size() == 2 || three) && x.rank() == 3 && tokens >= 1 && x.size(1) == tokens,
              ShapeError,
              fmt::format("token_conv: x is {}, the grid {}; expected (b, {}, c)",
                          to_string(x.shape()), fmt::join(grid, " x "), three ? "d h w" : "h w"));
  const DType dtype = compute_dtype(x.dtype());
  const std::int64_t c = x.size(2);
  bool fits = weight.rank() == static_cast<int>(grid.size()) + 2 && weight.size(0) == c &&
              weight.size(1) == 1 && weight.dtype() == dtype;
  for (int axis = 2; fits && axis < weight.rank(); ++axis) fits = weight.size(axis) % 2 == 1;
  FOVEA_CHECK(fits, ShapeError,
              fmt::format("token_conv: weight is {} {}; expected {} ({}, 1, odd, odd{})",
                          name_of(weight.dtype()), to_string(weight.shape()), name_of(dtype), c,
                          three ? ", odd" : ""));
  FOVEA_CHECK(!bias.defined() || (bias.shape() == Shape{c} && bias.dtype() == dtype), ShapeError,
              fmt::format("token_conv: bias is {} {}; expected {} ({})", name_of(bias.dtype()),
                          to_string(bias.shape()), name_of(dtype), c));
}

}  // namespace

// The result is made again too: the hidden layer of an FFN keeps only the input.
Tensor token_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const Sizes& sizes,
                  bool residual) {
  check(x, weight, bias, sizes);
  Shape grid{x.size(0)};
  for (const std::int64_t size : sizes) grid.push_back(size);
  grid.push_back(x.size(2));
  const auto forward = [=](const Tensor& in, const Tensor& by, const Tensor& plus) {
    Tensor y = Tensor::empty_like(in);
    backend(in).token_conv({.residual = residual,
                            .x = in.alias(grid),
                            .weight = by,
                            .bias = plus,
                            .y = y.alias(grid)});
    return y;
  };
  Op op("token_conv", {x, weight, bias});
  const Tensor y = forward(x, weight, bias);
  op.macs(y.numel() * (weight.numel() / weight.size(0)));
  const autograd::Kept kept = op.keep_or_remake(x);
  const Tensor kept_weight = op.keep(weight);
  op.remake([=, kept_bias = op.keep(bias)] { return forward(kept.get(), kept_weight, kept_bias); });
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    const Tensor input = kept.get();
    Tensor dx = in.empty(0);
    Tensor dweight = in.empty(1);
    Tensor dbias = in.empty(2);
    backend(dy).token_conv_backward({.residual = residual,
                                     .x = input.alias(grid),
                                     .weight = kept_weight,
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
