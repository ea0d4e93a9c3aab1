#include "ops/reduce.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

// Shape of x with the axes set to 1 (all of them if none are named).
Shape kept_shape(const Tensor& x, const std::vector<int>& axes) {
  Shape shape = x.shape();
  if (axes.empty()) {
    for (int axis = 0; axis < shape.rank(); ++axis) shape[axis] = 1;
  }
  for (const int axis : axes) shape[shape.normalise_axis(axis)] = 1;
  return shape;
}

Shape squeezed_shape(const Tensor& x, const std::vector<int>& axes) {
  std::vector<bool> drop(static_cast<std::size_t>(x.rank()), axes.empty());
  for (const int axis : axes) drop[static_cast<std::size_t>(x.shape().normalise_axis(axis))] = true;
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!drop[static_cast<std::size_t>(axis)]) shape.push_back(x.shape()[axis]);
  }
  return shape;
}

Tensor raw_reduce(ReduceOp kind, const Tensor& x, const Shape& kept) {
  Tensor y = Tensor::empty(kept, x.dtype(), x.device());
  backend(x).reduce(kind, x, y);
  return y;
}

Tensor total(const char* name, ReduceOp kind, const Tensor& x, const std::vector<int>& axes,
             bool keepdim) {
  Op op(name, {x});
  const Shape kept = kept_shape(x, axes);
  const Tensor y = raw_reduce(kind, x, kept);
  const Shape shape = x.shape();
  const double scale = kind == ReduceOp::kMean && x.numel() > 0
                           ? static_cast<double>(y.numel()) / static_cast<double>(x.numel())
                           : 1.0;
  return op.output(keepdim ? y : y.alias(squeezed_shape(x, axes)),
                   [=](const Tensor& dy, Gradients& in) {
                     const Tensor wide = dy.alias(kept);
                     in.add(0, expand(scale == 1.0 ? wide : mul(wide, scale), shape));
                   });
}

Tensor extremum(const char* name, ReduceOp kind, const Tensor& x, const std::vector<int>& axes,
                bool keepdim) {
  const Shape kept = kept_shape(x, axes);
  FOVEA_CHECK(x.numel() > 0 || kept.numel() == 0, ShapeError,
              fmt::format("{}: x is {}; expected at least one element on every reduced axis", name,
                          to_string(x.shape())));
  Op op(name, {x});
  const Tensor y = raw_reduce(kind, x, kept);
  return op.output(keepdim ? y : y.alias(squeezed_shape(x, axes)),
                   [kept, x = op.keep(x), y = op.keep_result(y)](const Tensor& dy, Gradients& in) {
                     const Tensor hits = cast(equal(x, y), x.dtype());
                     const Tensor share =
                         div(dy.alias(kept), raw_reduce(ReduceOp::kSum, hits, kept));
                     in.add(0, mul(hits, share));
                   });
}

// True if the rows of a tensor of this shape can be divided evenly among `items`.
bool divides(std::int64_t items, const Shape& shape) {
  const std::int64_t rows = shape.part(0, shape.rank() - 1).numel();
  return items == 0 ? rows == 0 : rows % items == 0;
}

}  // namespace

Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  return total("sum", ReduceOp::kSum, x, axes, keepdim);
}

Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  return total("mean", ReduceOp::kMean, x, axes, keepdim);
}

Tensor max(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  return extremum("max", ReduceOp::kMax, x, axes, keepdim);
}

Tensor min(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  return extremum("min", ReduceOp::kMin, x, axes, keepdim);
}

namespace {

Tensor arg_extremum(const char* name, bool maximum, const Tensor& x) {
  FOVEA_CHECK(
      x.rank() >= 1 && x.size(-1) >= 1, ShapeError,
      fmt::format("{}: x is {}; expected a last axis with elements", name, to_string(x.shape())));
  Op op(name, {x});
  Tensor y = Tensor::empty(x.shape().part(0, x.rank() - 1), DType::kInt64, x.device());
  backend(x).arg_reduce(maximum, x, y);
  return op.output(y, {});
}

}  // namespace

Tensor argmax(const Tensor& x) { return arg_extremum("argmax", true, x); }
Tensor argmin(const Tensor& x) { return arg_extremum("argmin", false, x); }

Tensor reduce_to(const Tensor& x, const Shape& shape) { return reduce_to(x, shape, x.dtype()); }

Tensor reduce_to(const Tensor& x, const Shape& shape, DType dtype) {
  if (x.shape() == shape && x.dtype() == dtype) return x;
  // Right-align, then sum the axes that were stretched.
  Shape aligned;
  for (int axis = shape.rank(); axis < x.rank(); ++axis) aligned.push_back(1);
  for (const std::int64_t size : shape) aligned.push_back(size);
  const Tensor y = Tensor::empty(aligned, dtype, x.device());
  backend(x).reduce(ReduceOp::kSum, x, y);
  return y.alias(shape);
}

Tensor softmax(const Tensor& x, const Tensor& mask, bool causal) {
  FOVEA_CHECK(x.rank() >= 1 && (!causal || x.rank() >= 2), ShapeError,
              fmt::format("softmax: x is {}; expected (..., keys){}", to_string(x.shape()),
                          causal ? " with a query axis for causal" : ""));
  if (mask.defined()) {
    const bool fits = mask.dtype() == DType::kUint8 && mask.rank() == 2 &&
                      mask.size(1) == x.size(-1) && divides(mask.size(0), x.shape());
    FOVEA_CHECK(fits, ShapeError,
                fmt::format("softmax: mask is {} {} for x {}; expected uint8 (items, {})",
                            name_of(mask.dtype()), to_string(mask.shape()), to_string(x.shape()),
                            x.size(-1)));
  }
  if (x.dtype() == DType::kBFloat16)
    return cast(softmax(cast(x, DType::kFloat32), mask, causal), DType::kBFloat16);
  Op op("softmax", {x});
  const SoftmaxArgs args{.log = false, .causal = causal};
  Tensor y = Tensor::empty_like(x);
  backend(x).softmax(args, x, mask, y);
  return op.output(y, [args, saved = op.keep_result(y)](const Tensor& dy, Gradients& in) {
    Tensor dx = Tensor::empty_like(saved);
    backend(saved).softmax_backward(args, saved, dy, dx);
    in.add(0, std::move(dx));
  });
}

Tensor log_softmax(const Tensor& x) {
  FOVEA_CHECK(x.rank() >= 1, ShapeError, "log_softmax: x is a scalar; expected (..., classes)");
  if (x.dtype() == DType::kBFloat16) return log_softmax(cast(x, DType::kFloat32));
  Op op("log_softmax", {x});
  const SoftmaxArgs args{.log = true, .causal = false};
  Tensor y = Tensor::empty_like(x);
  backend(x).softmax(args, x, {}, y);
  return op.output(y, [args, saved = op.keep_result(y)](const Tensor& dy, Gradients& in) {
    Tensor dx = Tensor::empty_like(saved);
    backend(saved).softmax_backward(args, saved, dy, dx);
    in.add(0, std::move(dx));
  });
}

}  // namespace fovea::ops
