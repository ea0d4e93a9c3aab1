#include "backend/composed/composed.h"

namespace fovea::composed {

Tensor filled(const Shape& shape, double value, DType dtype, const Device& device) {
  Tensor y = Tensor::empty(shape, dtype, device);
  backend(y).fill(y, value);
  return y;
}

Tensor as(const Tensor& x, DType dtype) {
  if (!x.defined() || x.dtype() == dtype) return x;
  Tensor y = Tensor::empty(x.shape(), dtype, x.device());
  backend(x).cast(x, y);
  return y;
}

Tensor wide(const Tensor& x) { return x.defined() ? as(x, compute_dtype(x.dtype())) : x; }

void write(const Tensor& x, const Tensor& to) { backend(x).cast(x.alias(to.shape()), to); }

Tensor unary(UnaryOp op, const Tensor& x, UnaryParams params) {
  const DType dtype = op == UnaryOp::kIsFinite ? DType::kUint8 : x.dtype();
  Tensor y = Tensor::empty(x.shape(), dtype, x.device());
  backend(x).unary(op, params, x, y);
  return y;
}

Tensor affine(const Tensor& x, double a, double b) { return unary(UnaryOp::kAffine, x, {a, b}); }

Tensor binary(BinaryOp op, const Tensor& a, const Tensor& b) {
  const DType dtype = op >= BinaryOp::kEqual ? DType::kUint8 : a.dtype();
  Tensor y = Tensor::empty(broadcast(a.shape(), b.shape(), "composed"), dtype, a.device());
  backend(a).binary(op, a, b, y);
  return y;
}

Tensor add(const Tensor& a, const Tensor& b) { return binary(BinaryOp::kAdd, a, b); }
Tensor sub(const Tensor& a, const Tensor& b) { return binary(BinaryOp::kSub, a, b); }
Tensor mul(const Tensor& a, const Tensor& b) { return binary(BinaryOp::kMul, a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return binary(BinaryOp::kDiv, a, b); }

Tensor compare(BinaryOp op, const Tensor& x, double value) {
  return binary(op, x, filled({}, value, x.dtype(), x.device()));
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const Shape both = broadcast(a.shape(), b.shape(), "composed");
  Tensor y = Tensor::empty(broadcast(both, condition.shape(), "composed"), a.dtype(), a.device());
  backend(a).where(condition, a, b, y);
  return y;
}

Tensor where(const Tensor& condition, const Tensor& a, double otherwise) {
  return where(condition, a, filled({}, otherwise, a.dtype(), a.device()));
}

Tensor reduce(ReduceOp op, const Tensor& x, const Shape& kept) {
  Tensor y = Tensor::empty(kept, x.dtype(), x.device());
  backend(x).reduce(op, x, y);
  return y;
}

Tensor over_rows(ReduceOp op, const Tensor& x) {
  Shape kept = x.shape();
  kept[kept.rank() - 1] = 1;
  return reduce(op, x, kept);
}

Tensor permuted(const Tensor& x, const std::vector<int>& order) {
  const Shape strides = x.shape().strides();
  CopyArgs args;
  for (const int axis : order) {
    args.shape.push_back(x.shape()[axis]);
    args.src_strides.push_back(strides[axis]);
  }
  args.dst_strides = args.shape.strides().to_vector();
  Tensor y = Tensor::empty(args.shape, x.dtype(), x.device());
  backend(x).copy(args, x, y);
  return y;
}

Tensor repeated(const Tensor& x, std::int64_t times) {
  Tensor y = Tensor::empty({x.numel(), times}, x.dtype(), x.device());
  CopyArgs args;
  args.shape = y.shape();
  args.src_strides = {1, 0};
  args.dst_strides = {times, 1};
  backend(x).copy(args, x, y);
  return y;
}

Tensor columns(const Tensor& x, std::int64_t first, std::int64_t count) {
  Tensor y = Tensor::empty({x.size(0), count}, x.dtype(), x.device());
  CopyArgs args;
  args.shape = y.shape();
  args.src_offset = first;
  args.src_strides = {x.size(1), 1};
  args.dst_strides = {count, 1};
  backend(x).copy(args, x, y);
  return y;
}

void put_columns(const Tensor& from, std::int64_t first, const Tensor& to) {
  CopyArgs args;
  args.shape = from.shape();
  args.dst_offset = first;
  args.src_strides = {from.size(1), 1};
  args.dst_strides = {to.size(1), 1};
  backend(to).copy(args, from, to);
}

Tensor norm_gradient(const Tensor& normed, const Tensor& e, const Tensor& rstd, bool centred) {
  Tensor rest = sub(e, mul(normed, reduce(ReduceOp::kMean, mul(e, normed), rstd.shape())));
  if (centred) rest = sub(rest, reduce(ReduceOp::kMean, e, rstd.shape()));
  return mul(rest, rstd);
}

}  // namespace fovea::composed
