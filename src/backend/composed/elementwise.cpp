// Default bodies: maps, sums over lists of tensors, updates of parameters.
#include <cmath>

#include "backend/composed/composed.h"

namespace fovea {

using namespace composed;

void Backend::axpy(double alpha, const Tensor& x, const Tensor& y) const {
  binary(BinaryOp::kAdd, y, affine(x, alpha), y);
}

void Backend::gated(const GatedArgs& args, const Tensor& x, const Tensor& y) const {
  const std::int64_t n = y.shape().rank() == 0 ? 1 : y.size(-1);
  const Tensor in = x.alias({x.shape().part(0, x.rank() - 1).numel(), 2 * n});
  const Tensor gate = columns(in, args.gate_last ? n : 0, n);
  const Tensor other = columns(in, args.gate_last ? 0 : n, n);
  write(mul(composed::unary(args.op, gate), other), y);
}

void Backend::gated_backward(const GatedArgs& args, const Tensor& x, const Tensor& dy,
                             const Tensor& dx) const {
  const std::int64_t n = dy.size(-1);
  const std::int64_t rows = x.shape().part(0, x.rank() - 1).numel();
  const Tensor in = x.alias({rows, 2 * n});
  const Tensor upstream = dy.alias({rows, n});
  const std::int64_t first = args.gate_last ? n : 0;
  const Tensor gate = columns(in, first, n);
  const Tensor value = composed::unary(args.op, gate);
  const Tensor dgate = Tensor::empty_like(gate);
  unary_backward({.op = args.op,
                  .params = {},
                  .x = gate,
                  .y = value,
                  .dy = mul(upstream, columns(in, n - first, n)),
                  .dx = dgate});
  put_columns(dgate, first, dx.alias(in.shape()));
  put_columns(mul(upstream, value), n - first, dx.alias(in.shape()));
}

void Backend::dropout(const DropoutArgs& args, const Tensor& x, const Tensor& y) const {
  if (x.numel() == 0) return;
  const Tensor in = wide(x).alias({x.numel() / args.block, args.block});
  const Tensor draws = Tensor::empty({in.size(0), 1}, in.dtype(), x.device());
  random_uniform(args.key, 0, 1, draws);
  write(composed::where(compare(BinaryOp::kGreaterEqual, draws, args.p),
                        affine(in, 1 / (1 - args.p)), 0.0),
        y);
}

void Backend::sum_squares(const std::vector<Tensor>& xs, const Tensor& sum) const {
  fill(sum, 0);
  for (const Tensor& x : xs) {
    const Tensor row = as(x, DType::kFloat64).alias({x.numel()});
    binary(BinaryOp::kAdd, sum, composed::reduce(ReduceOp::kSumSquares, row, {1}).alias({}), sum);
  }
}

void Backend::all_finite(const std::vector<Tensor>& xs, const Tensor& finite) const {
  const Tensor lost = filled({}, 0, DType::kFloat64, finite.device());
  for (const Tensor& x : xs) {
    const Tensor good = as(composed::unary(UnaryOp::kIsFinite, x), DType::kFloat64);
    const Tensor bad = affine(good, -1, 1).alias({x.numel()});
    binary(BinaryOp::kAdd, lost, composed::reduce(ReduceOp::kSum, bad, {1}).alias({}), lost);
  }
  write(compare(BinaryOp::kEqual, lost, 0), finite);
}

// dgsa 6.4.
void Backend::adamw(const AdamWArgs& args, const AdamWTensors& of) const {
  const auto step = static_cast<double>(args.step);
  const double rate = args.lr / (1 - std::pow(args.beta1, step));
  const double root = 1 / std::sqrt(1 - std::pow(args.beta2, step));
  ema(args.beta1, of.grad, of.m);
  ema(args.beta2, composed::unary(UnaryOp::kSquare, of.grad), of.v);
  const Tensor scale = affine(composed::unary(UnaryOp::kSqrt, of.v), root, args.eps);
  const Tensor kept = affine(of.param, 1 - args.lr * args.weight_decay);
  write(sub(kept, affine(div(of.m, scale), rate)), of.param);
}

// PyTorch's rule: g += wd p; buf = momentum buf + (1 - dampening) g (g itself at first);
// p -= lr (nesterov ? g + momentum buf : buf).
void Backend::sgd(const SgdArgs& args, const SgdTensors& of) const {
  Tensor step = add(of.grad, affine(of.param, args.weight_decay));
  if (of.momentum.defined()) {
    const Tensor old = affine(of.momentum, args.momentum);
    write(args.first ? step : add(old, affine(step, 1 - args.dampening)), of.momentum);
    step = args.nesterov ? add(step, affine(of.momentum, args.momentum)) : of.momentum;
  }
  axpy(-args.lr, step, of.param);
}

void Backend::ema(double decay, const Tensor& x, const Tensor& average) const {
  write(add(affine(average, decay), affine(x, 1 - decay)), average);
}

}  // namespace fovea
