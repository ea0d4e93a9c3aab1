// Maps, sums over lists, updates of parameters.
#include <limits>

#include "tests/backend/fused_cases.h"

namespace fovea::test {
namespace {

using Outputs = std::vector<Tensor>;

Outputs axpy(const Backend& b, Operands& o) {
  const Tensor y = o.x({3, 7});
  b.axpy(-0.3, o.x({3, 7}), y);
  return {y};
}

FusedCase gated_case(UnaryOp op, bool gate_last, const char* name) {
  return {"gated", name, true, [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor y = o.to_x({3, 2, 7});
            b.gated({.op = op, .gate_last = gate_last}, o.x({3, 2, 14}), y);
            return {y};
          }};
}

FusedCase gated_backward_case(UnaryOp op, bool gate_last, const char* name) {
  return {
      "gated_backward", name, true, [=](const Backend& b, Operands& o) -> Outputs {
        const Tensor dx = o.to_x({3, 2, 14});
        b.gated_backward({.op = op, .gate_last = gate_last}, o.x({3, 2, 14}), o.x({3, 2, 7}), dx);
        return {dx};
      }};
}

FusedCase dropout_case(std::int64_t block) {
  return {"dropout", "blocks of " + std::to_string(block), true,
          [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor y = o.to_x({8, 6});
            b.dropout({.key = 77, .p = 0.4, .block = block}, o.x({8, 6}), y);
            return {y};
          }};
}

Outputs sum_squares(const Backend& b, Operands& o) {
  const Tensor sum = Tensor::empty({}, DType::kFloat64, cpu());
  b.sum_squares({o.x({3, 5}), o.c({0}), o.x({}), o.c({70000})}, sum);
  return {sum};
}

// More than pass into one launch of a graphics processor.
Outputs sum_squares_of_many(const Backend& b, Operands& o) {
  std::vector<Tensor> xs;
  for (std::int64_t i = 0; i < 20; ++i) xs.push_back(o.x({1 + 7 * i}));
  const Tensor sum = Tensor::empty({}, DType::kFloat64, cpu());
  b.sum_squares(xs, sum);
  return {sum};
}

FusedCase all_finite_case(double last, const char* name) {
  return {"all_finite", name, true, [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor finite = Tensor::empty({}, DType::kUint8, cpu());
            const Tensor x = o.x({3});
            b.fill(x.rows(2, 3), last);
            b.all_finite({o.x({3, 5}), o.x({0}), x}, finite);
            return {finite};
          }};
}

Outputs adamw(const Backend& b, Operands& o) {
  const AdamWTensors of{
      .grad = o.c({40}), .param = o.c({40}), .m = o.c({40}), .v = o.between(0.1, 1, {40})};
  b.adamw({.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1, .step = 3},
          of);
  return {of.param, of.m, of.v};
}

FusedCase sgd_case(const SgdArgs& args, const char* name) {
  return {"sgd", name, false, [=](const Backend& b, Operands& o) -> Outputs {
            const SgdTensors of{.grad = o.c({40}),
                                .param = o.c({40}),
                                .momentum = args.momentum > 0 ? o.c({40}) : Tensor()};
            b.sgd(args, of);
            if (args.momentum == 0) return {of.param};
            return {of.param, of.momentum};
          }};
}

Outputs ema(const Backend& b, Operands& o) {
  const Tensor average = o.c({40});
  b.ema(0.9, o.c({40}), average);
  return {average};
}

}  // namespace

std::vector<FusedCase> cases_of_updates() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {{"axpy", "", true, axpy},
          gated_case(UnaryOp::kSilu, false, "swiglu"),
          gated_case(UnaryOp::kGelu, true, "gelu of the last half"),
          gated_backward_case(UnaryOp::kSilu, false, "swiglu"),
          gated_backward_case(UnaryOp::kGelu, true, "gelu of the last half"),
          dropout_case(1),
          dropout_case(6),
          {"sum_squares", "", true, sum_squares},
          {"sum_squares", "of many", true, sum_squares_of_many},
          all_finite_case(1, "finite"),
          all_finite_case(kInfinity, "infinite"),
          all_finite_case(std::numeric_limits<double>::quiet_NaN(), "nan"),
          {"adamw", "", false, adamw},
          sgd_case({.lr = 0.1, .weight_decay = 0.01}, "plain"),
          sgd_case({.lr = 0.1, .momentum = 0.9, .first = true}, "first"),
          sgd_case({.lr = 0.1, .momentum = 0.9, .dampening = 0.2}, "dampened"),
          sgd_case({.lr = 0.1, .momentum = 0.9, .nesterov = true}, "nesterov"),
          {"ema", "", false, ema}};
}

}  // namespace fovea::test
