#include "ops/linear.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/relevance.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

// One operand as a stack of matrices; `shared` has no stack axis.
struct Stack {
  Tensor x;
  bool trans = false;
  bool shared() const { return x.rank() == 2; }
  std::int64_t rows() const { return x.size(trans ? -1 : -2); }
  std::int64_t columns() const { return x.size(trans ? -2 : -1); }
};

void check_product(const Stack& a, const Stack& b) {
  const auto describe = [](const Stack& s) {
    return to_string(s.x.shape()) + (s.trans ? "^T" : "");
  };
  FOVEA_CHECK(a.x.rank() >= 2 && b.x.rank() >= 2, ShapeError,
              fmt::format("matmul: a is {}, b is {}; expected at least two axes", describe(a),
                          describe(b)));
  FOVEA_CHECK(
      a.columns() == b.rows(), ShapeError,
      fmt::format("matmul: inner sizes differ: a is {}, b is {}", describe(a), describe(b)));
  const bool fits = a.shared() || b.shared() ||
                    a.x.shape().part(0, a.x.rank() - 2) == b.x.shape().part(0, b.x.rank() - 2);
  FOVEA_CHECK(
      fits, ShapeError,
      fmt::format("matmul: leading sizes differ: a is {}, b is {}; expected equal ones, or none "
                  "on one side",
                  describe(a), describe(b)));
  FOVEA_CHECK(
      a.x.dtype() == b.x.dtype(), ShapeError,
      fmt::format("matmul: dtypes differ: {} and {}", name_of(a.x.dtype()), name_of(b.x.dtype())));
}

Tensor product(const Stack& a, const Stack& b) {
  const Tensor& leading = a.shared() ? b.x : a.x;
  Shape shape = leading.shape().part(0, leading.rank() - 2);
  const std::int64_t batch = shape.numel();
  shape.push_back(a.rows());
  shape.push_back(b.columns());
  Tensor c = Tensor::empty(shape, a.x.dtype(), a.x.device());
  GemmArgs args{
      .trans_a = a.trans, .trans_b = b.trans, .m = a.rows(), .n = b.columns(), .k = a.columns()};
  args.lda = a.x.size(-1);
  args.ldb = b.x.size(-1);
  args.ldc = args.n;
  args.batch = batch;
  args.stride_a = a.shared() ? 0 : args.m * args.k;
  args.stride_b = b.shared() ? 0 : args.k * args.n;
  args.stride_c = args.m * args.n;
  if (args.k == 0) {
    backend(c).fill(c, 0);
  } else if (b.shared() && !a.trans) {
    // The stack of a is one tall matrix.
    args.m *= batch;
    args.batch = 1;
    backend(c).gemm(args, a.x, b.x, {}, c);
  } else {
    backend(c).gemm(args, a.x, b.x, {}, c);
  }
  return c;
}

// The values of a parameter as the activations are stored, outside the graph.
Tensor stored_as(const Tensor& parameter, DType dtype) {
  if (parameter.dtype() == dtype) return parameter;
  const Tensor y = Tensor::empty(parameter.shape(), dtype, parameter.device());
  backend(y).cast(parameter, y);
  return y;
}

// The gradient of an operand, summed over the stack if it was shared.
Tensor gradient_of(const Shape& operand, const Stack& left, const Stack& right) {
  return reduce_to(product(left, right), operand);
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, bool trans_a, bool trans_b) {
  const Stack sa{a, trans_a};
  const Stack sb{b, trans_b};
  check_product(sa, sb);
  Op op("matmul", {a, b});
  const double share = relevance::share_of_product(a, b);
  const Tensor c = product(sa, sb);
  op.macs(c.numel() * sa.columns());
  return op.output(c, [=, of_a = a.shape(), of_b = b.shape(), a = op.keep(a, b.requires_grad()),
                       b = op.keep(b, a.requires_grad())](const Tensor& whole, Gradients& in) {
    const Tensor dc = share == 1 ? whole : mul(whole, share);
    // c = A B: dA = dC B^T, dB = A^T dC, with A = op(a) and B = op(b).
    if (in.wanted(0)) {
      in.add(0, trans_a ? gradient_of(of_a, {b, trans_b}, {dc, true})
                        : gradient_of(of_a, {dc, false}, {b, !trans_b}));
    }
    if (in.wanted(1)) {
      in.add(1, trans_b ? gradient_of(of_b, {dc, true}, {a, trans_a})
                        : gradient_of(of_b, {a, !trans_a}, {dc, false}));
    }
  });
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Op op("linear", {x, weight, bias});
  FOVEA_CHECK(
      weight.rank() == 2 && x.rank() >= 1 && x.size(-1) == weight.size(1), ShapeError,
      fmt::format("linear: x is {}, weight is {}; expected x (..., {})", to_string(x.shape()),
                  to_string(weight.shape()), weight.rank() == 2 ? weight.size(1) : 0));
  FOVEA_CHECK(!bias.defined() || bias.shape() == Shape{weight.size(0)}, ShapeError,
              fmt::format("linear: bias is {}; expected ({})",
                          bias.defined() ? to_string(bias.shape()) : "none", weight.size(0)));
  FOVEA_CHECK(weight.dtype() == compute_dtype(x.dtype()), ShapeError,
              fmt::format("linear: x is {}, weight is {}; expected weight {}", name_of(x.dtype()),
                          name_of(weight.dtype()), name_of(compute_dtype(x.dtype()))));
  const std::int64_t in_size = weight.size(1);
  const std::int64_t out_size = weight.size(0);
  const std::int64_t rows = x.shape().part(0, x.rank() - 1).numel();
  Shape shape = x.shape();
  shape[shape.rank() - 1] = out_size;
  Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  const Tensor w = stored_as(weight, x.dtype());
  const DType dtype = weight.dtype();
  const GemmArgs args{.trans_b = true,
                      .m = rows,
                      .n = out_size,
                      .k = in_size,
                      .lda = in_size,
                      .ldb = in_size,
                      .ldc = out_size};
  backend(x).gemm(args, x, w, bias, y);
  op.macs(rows * in_size * out_size);
  return op.output(y, [=, kept = op.keep_or_remake(x, weight.requires_grad()),
                       w = op.keep(w, x.requires_grad())](const Tensor& dy, Gradients& in) mutable {
    if (in.wanted(1)) {
      Tensor dw = in.empty(1), db = in.wanted(2) ? in.empty(2) : Tensor();
      backend(dy).linear_backward_weight(kept.get(), dy, dw, db);
      in.add(1, std::move(dw));
      if (db.defined()) in.add(2, std::move(db));
    } else if (in.wanted(2)) {
      in.add(2, reduce_to(dy, {out_size}, dtype));
    }
    kept = {};  // the gradient of x may take its memory
    if (in.wanted(0)) {
      Tensor dx = in.empty(0);
      backend(dy).gemm(
          {.m = rows, .n = in_size, .k = out_size, .lda = out_size, .ldb = in_size, .ldc = in_size},
          dy, w, {}, dx);
      in.add(0, std::move(dx));
    }
  });
}

}  // namespace fovea::ops
