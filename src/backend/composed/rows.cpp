// Default bodies: softmax, losses and norms of rows, lookups of rows, gradients of linear layers.
#include <limits>
#include <vector>

#include "backend/composed/composed.h"

namespace fovea {

using namespace composed;

namespace composed {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// allowed[t, j]: key j of query t under the causal rule.
Tensor causal_mask(std::int64_t queries, std::int64_t keys, const Device& device) {
  std::vector<std::uint8_t> allowed;
  for (std::int64_t t = 0; t < queries; ++t) {
    for (std::int64_t j = 0; j < keys; ++j) allowed.push_back(j <= t + keys - queries ? 1 : 0);
  }
  return Tensor::from(allowed, {queries, keys}, device);
}

}  // namespace

SoftRows soft_rows(bool causal, const Tensor& x, const Tensor& mask) {
  const std::int64_t n = x.size(-1);
  const std::int64_t rows = x.shape().part(0, x.rank() - 1).numel();
  Tensor scores = x.alias({rows, n});
  if (rows > 0 && mask.defined()) {
    const std::int64_t items = mask.size(0);
    scores = where(mask.alias({items, 1, n}), scores.alias({items, rows / items, n}), kNever);
  }
  if (rows > 0 && causal) {
    const std::int64_t queries = x.size(-2);
    scores = where(causal_mask(queries, n, x.device()), scores.alias({rows / queries, queries, n}),
                   kNever);
  }
  scores = scores.alias({rows, n});
  const Tensor top = over_rows(ReduceOp::kMax, scores);
  const Tensor nothing = compare(BinaryOp::kEqual, top, kNever);
  const Tensor any = compare(BinaryOp::kNotEqual, top, kNever);
  const Tensor shift = where(any, top, 0.0);
  const Tensor e = unary(UnaryOp::kExp, sub(scores, shift));
  const Tensor sum = over_rows(ReduceOp::kSum, e);
  return {where(any, div(e, sum), 0.0), add(shift, unary(UnaryOp::kLog, sum))};
}

}  // namespace composed

void Backend::softmax(const SoftmaxArgs& args, const Tensor& x, const Tensor& mask,
                      const Tensor& y) const {
  if (x.numel() == 0) return;
  const SoftRows rows = soft_rows(args.causal, x, mask);
  if (!args.log) return write(rows.p, y);
  // (Of a row with nothing allowed the log-sum-exp is -inf, and the result 0.)
  const Tensor difference = sub(x.alias(rows.p.shape()), rows.lse);
  write(composed::where(compare(BinaryOp::kNotEqual, rows.lse, kNever), difference, 0.0), y);
}

void Backend::softmax_backward(const SoftmaxArgs& args, const Tensor& y, const Tensor& dy,
                               const Tensor& dx) const {
  if (y.numel() == 0) return;
  if (args.log) {
    const Tensor sum = over_rows(ReduceOp::kSum, dy);
    return write(sub(dy, mul(composed::unary(UnaryOp::kExp, y), sum)), dx);
  }
  write(mul(y, sub(dy, over_rows(ReduceOp::kSum, mul(y, dy)))), dx);
}

namespace {

// Rows of the last axis as a matrix in the compute type, with the statistics of the rows.
Tensor matrix_of(const Tensor& x) {
  return wide(x).alias({x.shape().part(0, x.rank() - 1).numel(), x.size(-1)});
}

Tensor beside(const Tensor& statistics) { return statistics.alias({statistics.numel(), 1}); }

Tensor scaled(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor y = weight.defined() ? mul(x, weight) : x;
  return bias.defined() ? add(y, bias) : y;
}

// mean is undefined for RMS norm.
void backward(const LayerNormBackwardArgs& args) {
  const Tensor x = matrix_of(args.x);
  const Tensor dy = matrix_of(args.dy);
  const Tensor rstd = beside(args.rstd);
  const bool centred = args.mean.defined();
  const Tensor normed = mul(centred ? sub(x, beside(args.mean)) : x, rstd);
  const Shape sums{1, x.size(1)};
  if (args.dweight.defined())
    write(composed::reduce(ReduceOp::kSum, mul(dy, normed), sums), args.dweight);
  if (args.dbias.defined()) write(composed::reduce(ReduceOp::kSum, dy, sums), args.dbias);
  if (args.dx.defined())
    write(norm_gradient(normed, scaled(dy, args.weight, {}), rstd, centred), args.dx);
}

}  // namespace

void Backend::layer_norm(const LayerNormArgs& args) const {
  const Tensor x = matrix_of(args.x);
  const Tensor mean = over_rows(ReduceOp::kMean, x);
  const Tensor centred = sub(x, mean);
  const Tensor variance = over_rows(ReduceOp::kMean, composed::unary(UnaryOp::kSquare, centred));
  const Tensor rstd = composed::unary(UnaryOp::kRsqrt, affine(variance, 1, args.eps));
  write(scaled(mul(centred, rstd), args.weight, args.bias), args.y);
  write(mean, args.mean);
  write(rstd, args.rstd);
}

void Backend::layer_norm_backward(const LayerNormBackwardArgs& args) const { backward(args); }

void Backend::rms_norm(const RmsNormArgs& args) const {
  const Tensor x = matrix_of(args.x);
  const Tensor squares = over_rows(ReduceOp::kMean, composed::unary(UnaryOp::kSquare, x));
  const Tensor rstd = composed::unary(UnaryOp::kRsqrt, affine(squares, 1, args.eps));
  write(scaled(mul(x, rstd), args.weight, {}), args.y);
  write(rstd, args.rstd);
}

void Backend::rms_norm_backward(const RmsNormBackwardArgs& args) const {
  backward({.x = args.x,
            .weight = args.weight,
            .rstd = args.rstd,
            .dy = args.dy,
            .dx = args.dx,
            .dweight = args.dweight});
}

namespace {

// Of the rows of a cross-entropy: which count, and their class (0 where they do not).
struct Targets {
  Tensor counted, classes;
  Targets(const Tensor& target, std::int64_t ignore_index)
      : counted(compare(BinaryOp::kNotEqual, beside(target), static_cast<double>(ignore_index))),
        classes(composed::where(counted, beside(target), 0.0)) {}
};

}  // namespace

void Backend::cross_entropy(const CrossEntropyArgs& args) const {
  if (args.target.numel() == 0) return;
  const Tensor logits = matrix_of(args.logits);
  const Targets of(args.target, args.ignore_index);
  const Tensor lse = soft_rows(false, logits, {}).lse;
  const Tensor picked = Tensor::empty(of.classes.shape(), logits.dtype(), logits.device());
  gather(1, logits, of.classes, picked);
  Tensor loss = sub(lse, affine(picked, 1 - args.smoothing));
  // (Logits of -inf have a mean of -inf, and 0 times that is NaN.)
  if (args.smoothing != 0)
    loss = sub(loss, affine(over_rows(ReduceOp::kMean, logits), args.smoothing));
  write(lse, args.lse);
  write(composed::where(of.counted, loss, 0.0), args.loss);
}

void Backend::cross_entropy_backward(const CrossEntropyBackwardArgs& args) const {
  if (args.target.numel() == 0) return;
  const Tensor logits = matrix_of(args.logits);
  const Targets of(args.target, args.ignore_index);
  const double rest = args.smoothing / static_cast<double>(logits.size(1));
  const Tensor p = composed::unary(UnaryOp::kExp, sub(logits, beside(args.lse)));
  const Tensor d = affine(p, 1, -rest);
  const Device& device = logits.device();
  scatter_add(1, filled(of.classes.shape(), args.smoothing - 1, d.dtype(), device), of.classes, d);
  write(composed::where(of.counted, mul(d, beside(args.dloss)), 0.0), args.dlogits);
}

void Backend::gather_rows(const Tensor& table, const Tensor& index, const Tensor& y) const {
  if (y.numel() == 0) return;
  const std::int64_t dim = y.numel() / index.numel();
  gather(0, table.alias({table.numel() / dim, dim}), repeated(index, dim),
         y.alias({index.numel(), dim}));
}

void Backend::scatter_add_rows(const Tensor& x, const Tensor& index, const Tensor& table) const {
  if (x.numel() == 0) return;
  const std::int64_t dim = x.numel() / index.numel();
  scatter_add(0, x.alias({index.numel(), dim}), repeated(index, dim),
              table.alias({table.numel() / dim, dim}));
}

GemmArgs composed::weight_gradient(const Tensor& x, const Tensor& dy) {
  const std::int64_t in = x.size(-1), out = dy.size(-1);
  return {.trans_a = true,
          .m = out,
          .n = in,
          .k = dy.shape().part(0, dy.rank() - 1).numel(),
          .lda = out,
          .ldb = in,
          .ldc = in};
}

void Backend::linear_backward_weight(const Tensor& x, const Tensor& dy, const Tensor& dweight,
                                     const Tensor& dbias) const {
  const GemmArgs args = weight_gradient(x, dy);
  gemm(args, dy, x, {}, dweight);
  if (dbias.defined()) reduce(ReduceOp::kSum, dy.alias({args.k, args.m}), dbias.alias({1, args.m}));
}

}  // namespace fovea
