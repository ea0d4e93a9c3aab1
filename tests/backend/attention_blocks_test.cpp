// Softmax attention of more than one block of the map, on the host.
#include <catch2/catch.hpp>

#include <array>
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

// Inputs are rounded to `rounded`, then computed with as `dtype`.
Results attend(const Device& device, const Shapes& s, bool causal, double size, DType dtype,
               DType rounded) {
  const auto values = [&](std::int64_t tokens, std::int64_t dim, std::uint64_t seed) {
    const Tensor given = random_tensor({1, tokens, s.heads * dim}, seed);
    const Tensor scaled = Tensor::empty_like(given);
    device.backend().unary(UnaryOp::kAffine, {size, 0}, given, scaled);
    const Tensor stored = Tensor::empty(given.shape(), rounded, device);
    device.backend().cast(scaled, stored);
    const Tensor x = Tensor::empty(given.shape(), dtype, device);
    device.backend().cast(stored, x);
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

Results attend(const Device& device, const Shapes& s, bool causal, double size, DType dtype) {
  return attend(device, s, causal, size, dtype, dtype);
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

// Root mean square of errors relative to that of the results, of out, dq, dk and dv.
struct Errors {
  DType dtype;
  double size;  // of the inputs: with 6 scores of some 200 need the largest one of each row
  bool causal;
  std::array<double, 4> of_pytorch;  // scaled_dot_product_attention of 2.15 on the same inputs
};

TEST_CASE("attention: errors against float64 are no larger than PyTorch's", "[backend][host]") {
  constexpr Errors kErrors[] = {
      {DType::kFloat32, 1, false, {3.80e-7, 4.65e-7, 4.23e-7, 4.13e-7}},
      {DType::kFloat32, 1, true, {2.70e-7, 3.72e-7, 3.71e-7, 3.21e-7}},
      {DType::kFloat32, 6, false, {1.85e-6, 8.92e-6, 8.98e-6, 2.67e-6}},
      {DType::kFloat32, 6, true, {1.56e-6, 7.33e-6, 7.58e-6, 2.40e-6}},
      {DType::kBFloat16, 1, false, {2.23e-3, 2.40e-3, 3.99e-3, 4.05e-3}},
      {DType::kBFloat16, 1, true, {1.99e-3, 2.45e-3, 4.61e-3, 4.82e-3}},
      {DType::kBFloat16, 6, false, {1.09e-3, 6.58e-3, 6.25e-3, 2.32e-3}},
      {DType::kBFloat16, 6, true, {1.05e-3, 8.82e-3, 8.54e-3, 2.52e-3}},
  };
  // Sums in another order differ by a few hundredths.
  constexpr double kMore = 1.1;
  const Shapes s{480, 480, 1, 64, 64};
  for (const Errors& e : kErrors) {
    const Results found = attend(make_cpu(2), s, e.causal, e.size, e.dtype);
    const Results exact = attend(make_cpu(2), s, e.causal, e.size, DType::kFloat64, e.dtype);
    const auto expected = numbers(exact), values = numbers(found);
    for (std::size_t t = 0; t < e.of_pytorch.size(); ++t) {
      CAPTURE(name_of(e.dtype), e.size, e.causal, t);
      double errors = 0, sizes = 0;
      const std::size_t tensor = t == 0 ? 0 : t + 1;  // (without lse)
      for (std::size_t i = 0; i < values[tensor].size(); ++i) {
        errors += std::pow(values[tensor][i] - expected[tensor][i], 2);
        sizes += std::pow(expected[tensor][i], 2);
      }
      CHECK(std::sqrt(errors / sizes) <= kMore * e.of_pytorch[t]);
    }
  }
}
