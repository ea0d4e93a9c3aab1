// Linear attention of graphics processors against the CPU's, where there is one.
#include "backend/gpu/kernels/structs.h"
#include "tests/backend/emulated_cuda.h"
#include "tests/backend/gpu_cases.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Linear attention of any size, with any of its forms.
struct LinearSized {
  const char* name;
  std::int64_t batch = 1, heads = 2, queries = 70, keys = 70, dim = 16, width = 16;
  FeatureMap map = FeatureMap::kEluPlusOne;
  MagnitudeArgs magnitude = {};
  bool two_maps = false, causal = false, masked = false, rotated = false;
  bool norm = false, residual = false, gate = false, given = false;
  UnaryOp gate_op = UnaryOp::kSilu;
  bool irregular = false;  // the last head stands first
  bool add = false;
};

HeadLayout linear_layout(const LinearSized& a, std::int64_t tokens, std::int64_t width,
                         std::int64_t dim, std::int64_t first, std::int64_t step) {
  HeadLayout layout{tokens * width, width, {}, dim};
  for (std::int64_t head = 0; head < a.heads; ++head)
    layout.head_offsets.push_back(first + head * step);
  if (a.irregular) std::swap(layout.head_offsets.front(), layout.head_offsets.back());
  return layout;
}

// Heads of one projection: queries, keys, values and what is made of the results lie in one tensor
// where they are as many, and the gradients do.
struct LinearSizedCall {
  LinearAttentionArgs args;
  LinearAttentionInputs in;
  LinearAttentionSums sums;
  Tensor out;
};

LinearSizedCall linear_call(const LinearSized& a, Operands& o) {
  const std::int64_t streams = a.two_maps ? 2 : 1;
  const std::int64_t depth = streams * a.dim, width = a.heads * depth, wide = a.heads * a.width;
  LinearSizedCall call;
  LinearAttentionArgs& args = call.args;
  args.batch = a.batch;
  args.heads = a.heads;
  args.queries = a.queries;
  args.keys = a.keys;
  args.feature_map = a.map;
  args.magnitude = a.magnitude;
  args.causal = a.causal;
  args.eps = 1e-3;
  args.gate_op = a.gate_op;
  args.add = a.add;
  args.q = linear_layout(a, a.queries, width, a.dim, 0, depth);
  args.k = linear_layout(a, a.keys, width, a.dim, 0, depth);
  args.v = linear_layout(a, a.keys, wide, a.width, 0, a.width);
  if (a.two_maps) {
    args.q2 = linear_layout(a, a.queries, width, a.dim, a.dim, depth);
    args.k2 = linear_layout(a, a.keys, width, a.dim, a.dim, depth);
  }
  if (a.gate) args.gate = linear_layout(a, a.queries, wide, a.width, 0, a.width);
  if (a.residual) args.residual = linear_layout(a, a.queries, wide, a.width, 0, a.width);
  call.in = {.q = o.x({a.batch, a.queries, width}),
             .k = o.x({a.batch, a.keys, width}),
             .v = o.x({a.batch, a.keys, wide})};
  if (a.two_maps) call.in.lambda = o.c({a.heads, a.width});
  if (a.norm) call.in.weight = o.c({a.width});
  if (a.gate) call.in.gate = o.x({a.batch, a.queries, wide});
  if (a.residual) call.in.residual = o.x({a.batch, a.queries, wide});
  if (a.given) {
    call.in.beta = o.c({a.heads, a.width});
    call.in.gamma = o.c({a.heads, a.width});
  }
  if (a.rotated) {
    call.in.cos = o.c({a.keys, a.dim / 2});
    call.in.sin = o.c({a.keys, a.dim / 2});
  }
  if (a.masked) {  // the last item has nothing
    std::vector<std::uint8_t> valid;
    for (std::int64_t i = 0; i < a.batch * a.keys; ++i)
      valid.push_back(i < (a.batch - 1) * a.keys && i % 3 != 1 ? 1 : 0);
    call.in.mask = Tensor::from(valid, {a.batch, a.keys}, cpu());
  }
  call.sums = {o.to_c({a.batch, a.heads, depth, a.width}), o.to_c({a.batch, a.heads, depth}),
               a.magnitude.on ? o.to_c({a.batch, a.heads, a.width}) : Tensor()};
  call.out = o.to_x({a.batch, a.queries, wide});
  return call;
}

FusedCase linear_case(const LinearSized& a) {
  return {"linear attention and back", a.name, true, [=](const Backend& b, Operands& o) {
            const LinearSizedCall call = linear_call(a, o);
            const auto& [args, in, sums, out] = call;
            b.linear_attention(args, in, out, sums);
            const LinearAttentionGradients to{
                .q = o.x(in.q.shape()),
                .k = o.x(in.k.shape()),
                .v = o.x(in.v.shape()),
                .lambda = a.two_maps ? o.to_c(in.lambda.shape()) : Tensor(),
                .weight = a.norm ? o.to_c(in.weight.shape()) : Tensor(),
                .gate = a.gate ? o.x(in.gate.shape()) : Tensor(),
                .residual = a.residual ? o.x(in.residual.shape()) : Tensor(),
                .beta = a.given ? o.to_c(in.beta.shape()) : Tensor(),
                .gamma = a.given ? o.to_c(in.gamma.shape()) : Tensor()};
            b.linear_attention_backward(args, in, {.sums = sums, .dout = o.x(out.shape())}, to);
            std::vector<Tensor> written{out,         sums.products, sums.keys, sums.values, to.q,
                                        to.k,        to.v,          to.lambda, to.weight,   to.gate,
                                        to.residual, to.beta,       to.gamma};
            std::erase_if(written, [](const Tensor& x) { return !x.defined(); });
            return written;
          }};
}

}  // namespace

TEST_CASE("gpu linear attention: the fused cases agree with the CPU's", "[backend][gpu]") {
  std::vector<FusedCase> cases;
  for (const FusedCase& of : cases_of_attention()) {
    if (of.kernel.starts_with("linear_attention")) cases.push_back(of);
  }
  CHECK(cases.size() > 30);
  compare_with_cpu(cases, {DType::kFloat64, DType::kFloat32, DType::kBFloat16});
}

namespace {

MagnitudeArgs by_formula() { return {.on = true, .scale = 0.3, .over_keys = true}; }

// Of several blocks, pieces and tiles, and of what is no whole one of them.
std::vector<FusedCase> sized_linear_cases() {
  std::vector<FusedCase> cases;
  for (const LinearSized& a :
       {LinearSized{.name = "no whole blocks",
       .batch = 2,
       .queries = 100,
       .keys = 71,
       .dim = 24,
       .width = 40},
        LinearSized{.name = "many pieces", .queries = 130, .keys = 1500, .dim = 8, .width = 8},
        LinearSized{.name = "one query", .queries = 1, .keys = 300},
        LinearSized{.name = "one key", .queries = 65, .keys = 1},
        LinearSized{.name = "one token, causal", .queries = 1, .keys = 1, .causal = true},
        LinearSized{.name = "narrow", .dim = 1, .width = 3},
        LinearSized{.name = "wide", .dim = 128, .width = 128, .norm = true, .gate = true},
        LinearSized{.name = "wider queries", .dim = 100, .width = 20},
        LinearSized{.name = "wider values", .dim = 20, .width = 100, .causal = true},
        LinearSized{.name = "two maps",
        .batch = 2,
        .queries = 90,
        .dim = 40,
        .width = 72,
        .two_maps = true,
        .masked = true,
        .norm = true,
        .gate = true,
        .add = true},
        LinearSized{.name = "causal, relu",
        .queries = 200,
        .keys = 200,
        .map = FeatureMap::kRelu,
        .causal = true,
        .norm = true},
        LinearSized{.name = "causal, by magnitude",
        .batch = 2,
        .queries = 150,
        .keys = 150,
        .dim = 34,
        .map = FeatureMap::kExp,
        .magnitude = by_formula(),
        .causal = true,
        .rotated = true,
        .residual = true,
        .gate = true,
        .gate_op = UnaryOp::kSigmoid,
        .add = true},
        LinearSized{.name = "by magnitude",
        .batch = 3,
        .queries = 140,
        .keys = 140,
        .dim = 36,
        .width = 28,
        .magnitude = by_formula(),
        .masked = true,
        .rotated = true,
        .residual = true,
        .gate = true,
        .gate_op = UnaryOp::kAffine},
        LinearSized{.name = "by given numbers",
        .magnitude = {.on = true, .scale = 0.1, .beta = false, .gamma = false},
        .given = true},
        LinearSized{.name = "features of either sign",
        .map = FeatureMap::kNone,
        .magnitude = {.on = true, .scale = 0.1, .over_keys = true, .sums_at_least_eps = true}},
        LinearSized{.name = "no keys", .keys = 0},
        LinearSized{.name = "no queries", .queries = 0},
        LinearSized{.name = "no items", .batch = 0},
        LinearSized{.name = "left to the default: heads too wide", .dim = 136, .width = 8},
        LinearSized{
            .name = "left to the default: heads in no order", .heads = 5, .irregular = true}}) {
    cases.push_back(linear_case(a));
  }
  return cases;
}

}  // namespace

TEST_CASE("gpu linear attention: any size agrees with the CPU's", "[backend][gpu]") {
  compare_with_cpu(sized_linear_cases(), {DType::kFloat64, DType::kFloat32});
}

// Emulated: CUDA's text for the host.
TEST_CASE("gpu linear attention: tensor cores agree with the CPU", "[backend][fibers]") {
  std::vector<FusedCase> cases;
  for (const LinearSized& a : {LinearSized{.name = "no whole blocks",
                              .heads = 1,
                              .queries = 70,
                              .keys = 40,
                              .dim = 24,
                              .width = 40,
                              .gate = true},
                               LinearSized{.name = "wide",
                               .heads = 1,
                               .queries = 20,
                               .keys = 20,
                               .dim = 72,
                               .width = 128,
                               .norm = true,
                               .add = true},
                               LinearSized{.name = "two maps",
                               .batch = 2,
                               .heads = 1,
                               .queries = 30,
                               .keys = 30,
                               .dim = 36,
                               .width = 20,
                               .two_maps = true,
                               .masked = true,
                               .norm = true},
                               LinearSized{.name = "causal",
                               .heads = 1,
                               .queries = 70,
                               .keys = 70,
                               .dim = 40,
                               .width = 16,
                               .causal = true},
                               LinearSized{.name = "causal, by magnitude",
                               .heads = 1,
                               .queries = 70,
                               .keys = 70,
                               .dim = 18,
                               .magnitude = by_formula(),
                               .causal = true,
                               .rotated = true,
                               .residual = true},
                               LinearSized{.name = "by magnitude",
                               .heads = 1,
                               .queries = 40,
                               .keys = 40,
                               .dim = 32,
                               .width = 32,
                               .map = FeatureMap::kExp,
                               .magnitude = by_formula()}}) {
    cases.push_back(linear_case(a));
  }
  compare_with_cpu(cases, {DType::kFloat64, DType::kBFloat16}, emulated_cuda(false));
  compare_with_cpu(cases, {DType::kFloat32}, emulated_cuda(true), 2e-3);
}

TEST_CASE("gpu linear attention: memory grows as the tokens do", "[backend][gpu]") {
  for (const bool causal : {false, true}) {
    const auto peak = [&](std::int64_t n) -> std::int64_t {
      const Device device = any_gpu();
      if (!device.defined()) return 0;
      const InPlaceOfCpu here(device);
      Operands operands(DType::kFloat32);
      linear_case({.name = "", .queries = n, .keys = n, .causal = causal})
          .run(device.backend(), operands);
      return device.allocator().stats().peak_bytes;
    };
    CHECK(peak(2048) <= 5 * peak(512));
  }
}

TEST_CASE("gpu linear attention: two runs give the same bits", "[backend][gpu]") {
  const Device device = any_gpu();
  if (!device.defined()) return;
  const InPlaceOfCpu here(device);
  for (const bool causal : {false, true}) {
    const FusedCase of = linear_case({.name = "",
                                      .heads = 3,
                                      .queries = 600,
                                      .keys = 600,
                                      .magnitude = by_formula(),
                                      .causal = causal,
                                      .gate = true});
    CHECK(results(of, DType::kFloat32) == results(of, DType::kFloat32));
  }
}
