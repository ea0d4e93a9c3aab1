// Default bodies: maps, sums over lists of tensors, updates of parameters.
#include <cmath>

#include "backend/composed/composed.h"

namespace fovea {

using namespace composed;

void Backend::axpy(double alpha, const Tensor& x, const Tensor& y) const {
  binary(BinaryOp::kAdd, y, affine(x, alpha), y);
}

void Backend::gated(const GatedArgs& args, const Tensor& x, const Tensor& other,
                    const Tensor& y) const {
  if (other.defined()) return write(mul(composed::unary(args.op, x), other), y);
  const std::int64_t n = y.shape().rank() == 0 ? 1 : y.size(-1);
  const Tensor in = x.alias({x.shape().part(0, x.rank() - 1).numel(), 2 * n});
  const Tensor gate = columns(in, args.gate_last ? n : 0, n);
  write(mul(composed::unary(args.op, gate), columns(in, args.gate_last ? 0 : n, n)), y);
}

void Backend::gated_backward(const GatedArgs& args, const Tensor& x, const Tensor& other,
                             const Tensor& dy, const Tensor& dx, const Tensor& dother) const {
  if (other.defined()) {
    const Tensor value = composed::unary(args.op, x);
    const Tensor upstream = mul(dy, other);
    write(mul(dy, value), dother);
    return unary_backward(
        {.op = args.op, .params = {}, .x = x, .y = value, .dy = upstream, .dx = dx});
  }
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

namespace {

Tensor mean_with(const Tensor& average, double decay, const Tensor& x, double rest) {
  return add(affine(average, decay), affine(x, rest));
}

// Of an update: the factor of gradients, and whether anything changes.
struct UpdateScale {
  Tensor scale, finite;

  explicit UpdateScale(const Tensor& given) : scale(given) {
    if (given.defined()) finite = composed::unary(UnaryOp::kIsFinite, given);
  }
  Tensor times(const Tensor& grad) const {
    return scale.defined() ? mul(grad, as(scale, grad.dtype())) : grad;
  }
  void write(const Tensor& now, const Tensor& to) const {
    composed::write(scale.defined() ? composed::where(finite, now, to) : now, to);
  }
};

}  // namespace

// dgsa 6.4.
void Backend::adam(const AdamArgs& args, const std::vector<AdamTensors>& of) const {
  const auto step = static_cast<double>(args.step);
  const double rate = args.lr / (1 - std::pow(args.beta1, step));
  const double root = 1 / std::sqrt(1 - std::pow(args.beta2, step));
  const UpdateScale scale(args.scale);
  for (const auto& [grad, param, m, v] : of) {
    Tensor g = scale.times(grad);
    if (args.in_gradient() != 0) g = add(g, affine(param, args.in_gradient()));
    const Tensor square = composed::unary(UnaryOp::kSquare, g);
    const Tensor m_now = mean_with(m, args.beta1, g, 1 - args.beta1);
    const Tensor v_now = mean_with(v, args.beta2, square, 1 - args.beta2);
    const Tensor divisor = affine(composed::unary(UnaryOp::kSqrt, v_now), root, args.eps);
    const Tensor kept = affine(param, args.kept());
    scale.write(sub(kept, affine(div(m_now, divisor), rate)), param);
    scale.write(m_now, m);
    scale.write(v_now, v);
  }
}

// PyTorch's rule: g += wd p; buf = momentum buf + (1 - dampening) g (g itself at first);
// p -= lr (nesterov ? g + momentum buf : buf).
void Backend::sgd(const SgdArgs& args, const std::vector<SgdTensors>& of) const {
  const UpdateScale scale(args.scale);
  for (const auto& [grad, param, momentum] : of) {
    Tensor step = add(scale.times(grad), affine(param, args.weight_decay));
    if (momentum.defined()) {
      const Tensor now =
          args.first ? step : mean_with(momentum, args.momentum, step, 1 - args.dampening);
      scale.write(now, momentum);
      step = args.nesterov ? add(step, affine(now, args.momentum)) : now;
    }
    scale.write(sub(param, affine(step, args.lr)), param);
  }
}

namespace {

// |weights| / |update|, or 1 where one of them is 0: a scalar on the device.
Tensor trust_ratio(const Backend& kernels, const Tensor& weights, const Tensor& update) {
  const auto norm = [&](const Tensor& x) {
    const Tensor sum = Tensor::empty({}, kernels.widest(), x.device());
    kernels.sum_squares({x}, sum);
    return composed::unary(UnaryOp::kSqrt, sum);
  };
  const Tensor of_weights = norm(weights), of_update = norm(update);
  const auto where_positive = [](const Tensor& x, const Tensor& then) {
    return composed::where(compare(BinaryOp::kGreater, x, 0), then, 1.0);
  };
  return where_positive(of_weights, where_positive(of_update, div(of_weights, of_update)));
}

}  // namespace

// As timm's: u = m / (1 - b1^t) / (sqrt(v) / sqrt(1 - b2^t) + eps) + wd p;  p -= lr |p| / |u| u.
void Backend::lamb(const LambArgs& args, const std::vector<AdamTensors>& of) const {
  const auto step = static_cast<double>(args.step);
  const double whole = 1 / (1 - std::pow(args.beta1, step));
  const double root = 1 / std::sqrt(1 - std::pow(args.beta2, step));
  const UpdateScale scale(args.scale);
  for (const auto& [grad, param, m, v] : of) {
    const Tensor g = scale.times(grad);
    const Tensor square = composed::unary(UnaryOp::kSquare, g);
    const Tensor m_now = mean_with(m, args.beta1, g, 1 - args.beta1);
    const Tensor v_now = mean_with(v, args.beta2, square, 1 - args.beta2);
    const Tensor divisor = affine(composed::unary(UnaryOp::kSqrt, v_now), root, args.eps);
    Tensor update = add(affine(div(m_now, divisor), whole), affine(param, args.weight_decay));
    if (args.adapt) {
      Tensor trust = trust_ratio(*this, param, update);
      if (args.trust_clip) trust = composed::unary(UnaryOp::kClamp, trust, {0, 1});
      update = mul(update, as(trust, param.dtype()));
    }
    scale.write(sub(param, affine(update, args.lr)), param);
    scale.write(m_now, m);
    scale.write(v_now, v);
  }
}

// u = sign(b1 m + (1 - b1) g);  p = p (1 - lr wd) - lr u;  m = b2 m + (1 - b2) g.
void Backend::lion(const LionArgs& args, const std::vector<LionTensors>& of) const {
  const UpdateScale scale(args.scale);
  for (const auto& [grad, param, m] : of) {
    const Tensor g = scale.times(grad);
    const Tensor mixed = mean_with(m, args.beta1, g, 1 - args.beta1);
    const Tensor step = affine(composed::unary(UnaryOp::kSign, mixed), args.lr);
    scale.write(sub(affine(param, 1 - args.lr * args.weight_decay), step), param);
    scale.write(mean_with(m, args.beta2, g, 1 - args.beta2), m);
  }
}

void Backend::ema(double decay, const std::vector<Averaged>& of) const {
  for (const auto& [x, average] : of) write(mean_with(average, decay, x, 1 - decay), average);
}

}  // namespace fovea
