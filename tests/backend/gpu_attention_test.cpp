// Attention of graphics processors against the CPU's, where there is one.
#include <set>

#include "backend/gpu/attention_call.h"
#include "tests/backend/emulated_cuda.h"
#include "tests/backend/gpu_cases.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Softmax attention of any size.
struct Sized {
  const char* name;
  std::int64_t batch = 1, heads = 2, queries = 70, keys = 70, dim = 16, width = 16;
  std::int64_t sharing = 1;  // heads beside each other with the same keys and values
  bool two_maps = false, causal = false, masked = false;
  bool interleaved = false;    // heads that share are not beside each other
  bool irregular = false;      // the last head stands first
  bool tells_results = false;  // backward knows what each map gave
};

HeadLayout layout_of(const Sized& a, std::int64_t tokens, std::int64_t width, std::int64_t dim,
                     std::int64_t first, std::int64_t step, std::int64_t sharing) {
  HeadLayout layout{tokens * width, width, {}, dim};
  for (std::int64_t head = 0; head < a.heads; ++head) {
    const std::int64_t place = a.interleaved ? head % (a.heads / sharing) : head / sharing;
    layout.head_offsets.push_back(first + place * step);
  }
  if (a.irregular) std::swap(layout.head_offsets.front(), layout.head_offsets.back());
  return layout;
}

struct SizedCall {
  AttentionArgs args;
  AttentionInputs in;
  Tensor out, lse, map_results;
};

SizedCall call_of(const Sized& a, Operands& o) {
  const std::int64_t streams = a.two_maps ? 2 : 1;
  const std::int64_t width = streams * a.heads * a.dim;
  SizedCall call;
  AttentionArgs& args = call.args;
  args.batch = a.batch;
  args.heads = a.heads;
  args.queries = a.queries;
  args.keys = a.keys;
  args.scale = 0.3;
  args.causal = a.causal;
  args.add = a.sharing > 1;
  const auto stream = [&](std::int64_t tokens, std::int64_t first, std::int64_t sharing) {
    return layout_of(a, tokens, width, a.dim, first, streams * a.dim, sharing);
  };
  args.q = stream(a.queries, 0, 1);
  args.k = stream(a.keys, 0, a.sharing);
  args.v = layout_of(a, a.keys, a.heads * a.width, a.width, 0, a.width, a.sharing);
  if (a.two_maps) {
    args.q2 = stream(a.queries, a.dim, 1);
    args.k2 = stream(a.keys, a.dim, a.sharing);
  }
  call.in = {.q = o.x({a.batch, a.queries, width}),
             .k = o.x({a.batch, a.keys, width}),
             .v = o.x({a.batch, a.keys, a.heads * a.width})};
  if (a.masked) {  // the last item sees nothing
    std::vector<std::uint8_t> allowed;
    for (std::int64_t i = 0; i < a.batch * a.keys; ++i)
      allowed.push_back(i < (a.batch - 1) * a.keys && i % 3 != 1 ? 1 : 0);
    call.in.mask = Tensor::from(allowed, {a.batch, a.keys}, cpu());
  }
  if (a.two_maps) {
    call.in.c1 = o.x({a.batch, a.queries, a.heads});
    call.in.c2 = o.x({a.batch, a.queries, a.heads});
  }
  call.out = o.to_x({a.batch, a.queries, a.heads * a.width});
  call.lse = o.to_c({streams, a.batch, a.heads, a.queries});
  if (a.tells_results) call.map_results = a.two_maps ? o.to_x({2, call.out.numel()}) : call.out;
  return call;
}

FusedCase sized_case(const Sized& a) {
  return {"attention and back", a.name, true, [=](const Backend& b, Operands& o) {
            const SizedCall call = call_of(a, o);
            const auto& [args, in, out, lse, map_results] = call;
            b.attention(args, in, {.out = out, .lse = lse, .map_results = map_results});
            const Tensor finite = Tensor::empty_like(lse);  // (-inf - -inf is no number)
            b.unary(UnaryOp::kClamp, {-1e4, 1e4}, lse, finite);
            const AttentionGradients to{.q = o.x(in.q.shape()),
                                        .k = o.x(in.k.shape()),
                                        .v = o.x(in.v.shape()),
                                        .c1 = a.two_maps ? o.to_x(in.c1.shape()) : Tensor(),
                                        .c2 = a.two_maps ? o.to_x(in.c2.shape()) : Tensor()};
            b.attention_backward(
                args, in, {.lse = lse, .dout = o.x(out.shape()), .map_results = map_results}, to);
            std::vector<Tensor> written{out, finite, to.q, to.k, to.v};
            if (a.two_maps) written.insert(written.end(), {to.c1, to.c2});
            if (a.two_maps && a.tells_results) {
              REQUIRE(b.keeps_map_results(args));
              written.push_back(map_results);
            }
            return written;
          }};
}

const std::vector<DType> kTypes = {DType::kFloat64, DType::kFloat32, DType::kBFloat16};

}  // namespace

TEST_CASE("gpu attention: the fused cases agree with the CPU's", "[backend][gpu]") {
  std::vector<FusedCase> cases;
  for (const FusedCase& of : cases_of_attention()) {
    if (of.kernel.find("linear") == std::string::npos && of.kernel != "rotate") cases.push_back(of);
  }
  CHECK(cases.size() > 20);
  compare_with_cpu(cases, kTypes);
}

TEST_CASE("gpu attention: any size agrees with the CPU's", "[backend][gpu]") {
  std::vector<FusedCase> cases;
  for (const Sized& a :
       {Sized{.name = "no whole blocks",
       .batch = 2,
       .queries = 100,
       .keys = 71,
       .dim = 24,
       .width = 40},
        Sized{.name = "one query", .queries = 1, .keys = 1000, .dim = 32, .width = 32},
        Sized{.name = "one key", .queries = 65, .keys = 1},
        Sized{.name = "narrow", .dim = 1, .width = 3},
        Sized{.name = "wide", .dim = 64, .width = 128},
        Sized{.name = "wider queries", .dim = 100, .width = 20},
        Sized{.name = "masked", .batch = 3, .masked = true},
        Sized{.name = "causal", .queries = 130, .keys = 130, .causal = true},
        Sized{.name = "causal, many keys", .queries = 70, .keys = 150, .causal = true},
        Sized{
            .name = "causal, queries that see nothing", .queries = 150, .keys = 70, .causal = true},
        Sized{.name = "heads of groups", .heads = 6, .sharing = 3},
        Sized{.name = "heads of groups apart", .heads = 6, .sharing = 3, .interleaved = true},
        Sized{.name = "two maps",
        .batch = 2,
        .queries = 90,
        .two_maps = true,
        .causal = true,
        .masked = true},
        Sized{.name = "two maps of groups", .heads = 4, .sharing = 2, .two_maps = true},
        Sized{.name = "known result",
        .batch = 2,
        .heads = 3,
        .keys = 90,
        .width = 12,
        .causal = true,
        .masked = true,
        .tells_results = true},
        Sized{.name = "known results of two maps",
        .batch = 2,
        .heads = 3,
        .keys = 230,
        .width = 12,
        .two_maps = true,
        .masked = true,
        .tells_results = true},
        Sized{.name = "no keys", .keys = 0},
        Sized{.name = "no queries", .queries = 0},
        Sized{.name = "no items", .batch = 0},
        Sized{.name = "left to the default: heads too wide", .dim = 136, .width = 8},
        Sized{.name = "left to the default: heads in no order", .heads = 5, .irregular = true}}) {
    cases.push_back(sized_case(a));
  }
  compare_with_cpu(cases, {DType::kFloat64, DType::kFloat32});
}

// Emulated: CUDA's text for the host.
TEST_CASE("gpu attention: tensor cores agree with the CPU", "[backend][fibers]") {
  std::vector<FusedCase> cases;
  for (const Sized& a :
       {Sized{.name = "no whole blocks",
       .queries = 70,
       .keys = 40,
       .dim = 24,
       .width = 40,
       .tells_results = true},
        Sized{.name = "wide", .heads = 1, .queries = 20, .keys = 20, .dim = 64, .width = 128},
        Sized{.name = "narrow", .queries = 10, .keys = 40, .dim = 1, .width = 3},
        Sized{.name = "two maps",
        .batch = 2,
        .queries = 40,
        .keys = 50,
        .two_maps = true,
        .causal = true,
        .masked = true}}) {
    cases.push_back(sized_case(a));
  }
  for (const FusedCase& of : cases_of_attention())
    if (of.kernel.find("unit") == 0 && of.variant == "all of it") cases.push_back(of);
  compare_with_cpu(cases, {DType::kFloat64, DType::kBFloat16}, emulated_cuda(false));
  compare_with_cpu(cases, {DType::kFloat32}, emulated_cuda(true), 2e-3);
  const Sized known{.name = "known results of two maps",
                    .heads = 1,
                    .queries = 10,
                    .keys = 225,
                    .dim = 8,
                    .width = 8,
                    .two_maps = true,
                    .tells_results = true};
  compare_with_cpu({sized_case(known)}, {DType::kBFloat16}, emulated_cuda(false));
}

TEST_CASE("gpu attention: memory does not grow with the square of the tokens", "[backend][gpu]") {
  const Device device = any_gpu();
  if (!device.defined()) return;
  const InPlaceOfCpu here(device);
  constexpr std::int64_t n = 512, heads = 4;
  Operands operands(DType::kFloat32);
  const FusedCase of = sized_case({.name = "", .heads = heads, .queries = n, .keys = n});
  of.run(device.backend(), operands);
  CHECK(device.allocator().stats().peak_bytes < n * n * heads * 4);
}

TEST_CASE("gpu attention: two runs give the same bits", "[backend][gpu]") {
  const Device device = any_gpu();
  if (!device.defined()) return;
  const InPlaceOfCpu here(device);
  const FusedCase of = sized_case(
      {.name = "", .heads = 4, .queries = 130, .keys = 130, .sharing = 2, .two_maps = true});
  CHECK(results(of, DType::kFloat32) == results(of, DType::kFloat32));
}

TEST_CASE("gpu attention: heads of one wave share no channels", "[backend]") {
  for (const Sized& a : {Sized{.name = "", .heads = 6}, Sized{.name = "", .heads = 6, .sharing = 3},
                         Sized{.name = "", .heads = 6, .sharing = 3, .interleaved = true},
                         Sized{.name = "", .heads = 6, .sharing = 6}}) {
    Operands operands(DType::kFloat32);
    const auto& [args, in, out, lse, map_results] = call_of(a, operands);
    const auto waves = gpu::head_waves(HeadGroups(args, in.q, in.k, in.v), a.heads);
    CHECK(std::ssize(waves) == a.sharing);
    std::set<std::int64_t> heads;
    for (const gpu::HeadWave& wave : waves) {
      std::set<std::int64_t> offsets;
      for (std::int64_t i = 0; i < wave.count; ++i) {
        const std::int64_t head = wave.first + i * wave.step;
        heads.insert(head);
        offsets.insert(args.k.head_offsets.at(static_cast<std::size_t>(head)));
      }
      CHECK(std::ssize(offsets) == wave.count);
    }
    CHECK(std::ssize(heads) == a.heads);
  }
}

TEST_CASE("gpu attention: heads in two steps are walked, others are not", "[backend]") {
  CHECK(gpu::head_walk({0, 0, {8, 8, 12, 12}, 4})->outer == 4);
  CHECK(gpu::head_walk({0, 0, {0, 4, 0, 4}, 4})->inner == 4);
  CHECK(gpu::head_walk({0, 0, {}, 4}).has_value());
  CHECK_FALSE(gpu::head_walk({0, 0, {16, 4, 8, 12, 0}, 4}).has_value());
}
