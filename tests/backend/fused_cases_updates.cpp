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
            b.gated({.op = op, .gate_last = gate_last}, o.x({3, 2, 14}), {}, y);
            return {y};
          }};
}

Outputs gated_of_two(const Backend& b, Operands& o) {
  const Tensor y = o.to_x({3, 2, 7});
  b.gated({}, o.x({3, 2, 7}), o.x({3, 2, 7}), y);
  return {y};
}

Outputs gated_of_two_backward(const Backend& b, Operands& o) {
  const Tensor dx = o.to_x({3, 2, 7}), dother = o.to_x({3, 2, 7});
  b.gated_backward({}, o.x({3, 2, 7}), o.x({3, 2, 7}), o.x({3, 2, 7}), dx, dother);
  return {dx, dother};
}

FusedCase gated_backward_case(UnaryOp op, bool gate_last, const char* name) {
  return {"gated_backward", name, true, [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor dx = o.to_x({3, 2, 14});
            b.gated_backward({.op = op, .gate_last = gate_last}, o.x({3, 2, 14}), {},
                             o.x({3, 2, 7}), dx, {});
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

// Of as many parameters as need more than one launch of a graphics processor; one is empty, one
// longer than a group's piece.
const std::vector<std::int64_t> kSizes = {40, 0, 3, 5000, 1, 2, 3, 4, 5, 6, 7};

Tensor scale_of(double value) {
  if (value == 1) return {};
  const Tensor scale = Tensor::empty({}, DType::kFloat64, cpu());
  backend(scale).fill(scale, value);
  return scale;
}

// Parameters with the state of Adam; `outputs` are what an update writes.
std::vector<AdamTensors> adam_tensors(Operands& o, Outputs& outputs) {
  std::vector<AdamTensors> of;
  for (const std::int64_t n : kSizes) {
    of.push_back({.grad = o.c({n}), .param = o.c({n}), .m = o.c({n}), .v = o.between(0.1, 1, {n})});
    for (const Tensor& written : {of.back().param, of.back().m, of.back().v})
      outputs.push_back(written);
  }
  return of;
}

FusedCase adam_case(bool decoupled, double scale, const char* name) {
  return {"adam", name, false, [=](const Backend& b, Operands& o) -> Outputs {
            Outputs outputs;
            b.adam({.lr = 0.01,
                    .beta1 = 0.9,
                    .beta2 = 0.99,
                    .eps = 1e-8,
                    .weight_decay = 0.1,
                    .decoupled = decoupled,
                    .step = 3,
                    .scale = scale_of(scale)},
                   adam_tensors(o, outputs));
            return outputs;
          }};
}

FusedCase lamb_case(LambArgs args, double scale, const char* name) {
  return {"lamb", name, false, [=](const Backend& b, Operands& o) -> Outputs {
            Outputs outputs;
            LambArgs scaled = args;
            scaled.lr = 0.01;
            scaled.step = 3;
            scaled.scale = scale_of(scale);
            b.lamb(scaled, adam_tensors(o, outputs));
            return outputs;
          }};
}

FusedCase lion_case(double scale, const char* name) {
  return {"lion", name, false, [=](const Backend& b, Operands& o) -> Outputs {
            std::vector<LionTensors> of;
            Outputs outputs;
            for (const std::int64_t n : kSizes) {
              of.push_back({.grad = o.c({n}), .param = o.c({n}), .m = o.c({n})});
              outputs.push_back(of.back().param);
              outputs.push_back(of.back().m);
            }
            b.lion({.lr = 0.01, .weight_decay = 0.1, .scale = scale_of(scale)}, of);
            return outputs;
          }};
}

FusedCase sgd_case(SgdArgs args, double scale, const char* name) {
  return {"sgd", name, false, [=](const Backend& b, Operands& o) -> Outputs {
            SgdArgs scaled = args;
            scaled.scale = scale_of(scale);
            std::vector<SgdTensors> of;
            Outputs outputs;
            for (const std::int64_t n : kSizes) {
              of.push_back({.grad = o.c({n}),
                            .param = o.c({n}),
                            .momentum = args.momentum > 0 ? o.c({n}) : Tensor()});
              outputs.push_back(of.back().param);
              if (args.momentum > 0) outputs.push_back(of.back().momentum);
            }
            b.sgd(scaled, of);
            return outputs;
          }};
}

Outputs ema(const Backend& b, Operands& o) {
  std::vector<Averaged> of;
  Outputs outputs;
  for (const std::int64_t n : kSizes) {
    of.push_back({.x = o.c({n}), .average = o.c({n})});
    outputs.push_back(of.back().average);
  }
  b.ema(0.9, of);
  return outputs;
}

}  // namespace

std::vector<FusedCase> cases_of_updates() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return {{"axpy", "", true, axpy},
          gated_case(UnaryOp::kSilu, false, "swiglu"),
          gated_case(UnaryOp::kGelu, true, "gelu of the last half"),
          {"gated", "of two tensors", true, gated_of_two},
          {"gated_backward", "of two tensors", true, gated_of_two_backward},
          gated_backward_case(UnaryOp::kSilu, false, "swiglu"),
          gated_backward_case(UnaryOp::kGelu, true, "gelu of the last half"),
          dropout_case(1),
          dropout_case(6),
          {"sum_squares", "", true, sum_squares},
          {"sum_squares", "of many", true, sum_squares_of_many},
          all_finite_case(1, "finite"),
          all_finite_case(kInfinity, "infinite"),
          all_finite_case(kNan, "nan"),
          adam_case(true, 1, "plain"),
          adam_case(true, 0.3, "clipped"),
          adam_case(true, kNan, "not finite"),
          adam_case(false, 0.3, "decay in the gradient"),
          sgd_case({.lr = 0.1, .weight_decay = 0.01}, 1, "plain"),
          sgd_case({.lr = 0.1, .weight_decay = 0.01}, 0.3, "clipped"),
          sgd_case({.lr = 0.1, .momentum = 0.9, .first = true}, 1, "first"),
          sgd_case({.lr = 0.1, .momentum = 0.9, .dampening = 0.2}, 1, "dampened"),
          sgd_case({.lr = 0.1, .momentum = 0.9, .nesterov = true}, 0.3, "nesterov"),
          sgd_case({.lr = 0.1, .momentum = 0.9}, kNan, "not finite"),
          lamb_case({.weight_decay = 0.1}, 1, "plain"),
          lamb_case({.weight_decay = 0.1, .trust_clip = true}, 0.3, "clipped"),
          lamb_case({.adapt = false}, 1, "with the steps of Adam"),
          lamb_case({.weight_decay = 0.1}, kNan, "not finite"),
          lion_case(1, "plain"),
          lion_case(0.3, "clipped"),
          lion_case(kNan, "not finite"),
          {"ema", "", false, ema}};
}

}  // namespace fovea::test
