// Softmax attention of more than one block of the map, on the host.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "backend/devices.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

struct Shapes {
  std::int64_t queries, keys, heads, dim, width;
};

struct Results {
  Tensor out, lse, dq, dk, dv;
};

HeadLayout layout(std::int64_t tokens, std::int64_t heads, std::int64_t dim) {
  HeadLayout heads_of{tokens * heads * dim, heads * dim, {}, dim};
  for (std::int64_t head = 0; head < heads; ++head) heads_of.head_offsets.push_back(head * dim);
  return heads_of;
}

Results attend(const Device& device, const Shapes& s, bool causal, double size, DType dtype) {
  const auto values = [&](std::int64_t tokens, std::int64_t dim, std::uint64_t seed) {
    const Tensor x = Tensor::empty({1, tokens, s.heads * dim}, dtype, device);
    const Tensor given = random_tensor(x.shape(), seed);
    const Tensor scaled = Tensor::empty_like(given);
    device.backend().unary(UnaryOp::kAffine, {size, 0}, given, scaled);
    device.backend().cast(scaled, x);
    return x;
  };
  AttentionArgs args;
  args.batch = 1;
  args.heads = s.heads;
  args.queries = s.queries;
  args.keys = s.keys;
  args.q = layout(s.queries, s.heads, s.dim);
  args.k = layout(s.keys, s.heads, s.dim);
  args.v = layout(s.keys, s.heads, s.width);
  args.scale = 1 / std::sqrt(static_cast<double>(s.dim));
  args.causal = causal;
  args.add = false;
  const AttentionInputs in{.q = values(s.queries, s.dim, 1),
                           .k = values(s.keys, s.dim, 2),
                           .v = values(s.keys, s.width, 3)};
  const Tensor dout = values(s.queries, s.width, 4);
  Results r{Tensor::empty_like(dout),
            Tensor::empty({1, s.heads, s.queries}, compute_dtype(dtype), device),
            Tensor::empty_like(in.q), Tensor::empty_like(in.k), Tensor::empty_like(in.v)};
  device.backend().attention(args, in, {.out = r.out, .lse = r.lse});
  device.backend().attention_backward(args, in, {.lse = r.lse, .dout = dout, .map_results = r.out},
                                      {.q = r.dq, .k = r.dk, .v = r.dv});
  return r;
}

std::vector<std::vector<double>> numbers(const Results& r) {
  return {to_doubles(r.out), to_doubles(r.lse), to_doubles(r.dq), to_doubles(r.dk),
          to_doubles(r.dv)};
}

}  // namespace

TEST_CASE("attention: threads share the map of one head, and give the same bits",
          "[backend][host]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kBFloat16);
  const bool causal = GENERATE(false, true);
  const Shapes s{500, 700, 1, 24, 40};
  const auto alone = numbers(attend(make_cpu(1), s, causal, 1, dtype));
  for (int repeat = 0; repeat < 2; ++repeat)
    CHECK(numbers(attend(make_cpu(5), s, causal, 1, dtype)) == alone);
}

TEST_CASE("attention: float32 is as exact as its products, also of large scores",
          "[backend][host]") {
  // Scores up to some 200 need the largest one of each row; its block comes late in some rows.
  const double size = GENERATE(1.0, 6.0);
  const bool causal = GENERATE(false, true);
  const Shapes s{480, 480, 1, 64, 64};
  const Results exact = attend(make_cpu(2), s, causal, size, DType::kFloat64);
  const Results found = attend(make_cpu(2), s, causal, size, DType::kFloat32);
  const auto expected = numbers(exact), values = numbers(found);
  // Each relative to the largest of its tensor.
  for (std::size_t t = 0; t < values.size(); ++t) {
    CAPTURE(size, causal, t);
    double worst = 0;
    for (std::size_t i = 0; i < values[t].size(); ++i)
      worst = std::max(worst, std::abs(values[t][i] - expected[t][i]));
    CHECK(worst <= (size == 1.0 ? 2e-6 : 4e-5) * largest(expected[t]));
  }
}
