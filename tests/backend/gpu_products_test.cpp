// Products of matrices on a graphics processor: by its library where that has them, else by our
// kernel.
#include <fmt/format.h>

#include "backend/backend.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "tests/backend/emulated_cuda.h"
#include "tests/support/gpu.h"

using namespace fovea;
using namespace fovea::test;

namespace {

struct Product {
  std::int64_t m, n, k, batch;
  bool trans_a, trans_b, bias, shared_b;
};

// Operands are parts of larger tensors: what begins inside memory, in rows that are further apart
// than they are long.
GemmArgs arguments(const Product& p) {
  GemmArgs args{.trans_a = p.trans_a, .trans_b = p.trans_b, .m = p.m, .n = p.n, .k = p.k};
  args.lda = (p.trans_a ? p.m : p.k) + 3;
  args.ldb = (p.trans_b ? p.k : p.n) + 1;
  args.ldc = p.n + 2;
  args.batch = p.batch;
  args.stride_a = (p.trans_a ? p.k : p.m) * args.lda;
  args.stride_b = p.shared_b ? 0 : (p.trans_b ? p.n : p.k) * args.ldb;
  args.stride_c = p.m * args.ldc;
  return args;
}

Tensor multiply(const Product& p, DType dtype, const Device& device) {
  const GemmArgs args = arguments(p);
  const auto operand = [&](std::int64_t elements, std::uint64_t seed) {
    return ops::cast(random_tensor({2, elements}, seed), dtype).copy_on(device).rows(1, 2);
  };
  const Tensor a = operand(p.batch * args.stride_a, 1);
  const Tensor b = operand(p.batch * std::max(args.stride_b, std::max(p.n, p.k) * args.ldb), 2);
  const Tensor bias =
      p.bias ? ops::cast(random_tensor({p.n}, 3), compute_dtype(dtype)).copy_on(device) : Tensor();
  const Tensor c = Tensor::empty({p.batch, p.m, args.ldc}, dtype, device);
  backend(c).fill(c, 7);  // what lies between the rows stays as it is
  backend(c).gemm(args, a, b, bias, c);
  return c;
}

// share: what a difference may be, of the largest result.
void compare_with_cpu(const Product& p, DType dtype, const Device& device, double share) {
  INFO(fmt::format("{} x {} x {}, batch {}, {}", p.m, p.n, p.k, p.batch, name_of(dtype)));
  const Tensor expected = multiply(p, dtype, make_cpu(1));
  const Tensor actual = multiply(p, dtype, device);
  CHECK(max_difference(actual, expected) <= share * largest(to_doubles(expected)));
}

const std::vector<Product> kSmall = {{1, 1, 1, 1, false, false, false, false},
                                     {5, 70, 33, 1, false, true, true, false},
                                     {65, 3, 129, 2, true, false, false, false},
                                     {37, 41, 16, 1, true, true, true, true}};

}  // namespace

// Emulated: CUDA's text for the host.
TEST_CASE("gpu: products on tensor cores", "[backend][fibers]") {
  for (const Product& p : kSmall) {
    compare_with_cpu(p, DType::kBFloat16, emulated_cuda(false), 0.01);
    compare_with_cpu(p, DType::kFloat32, emulated_cuda(true), 1e-3);
    compare_with_cpu(p, DType::kFloat32, emulated_cuda(false), 1e-6);
  }
}

TEST_CASE("gpu: TF32 keeps ten bits of an operand", "[backend][fibers]") {
  // 1 + 2^-12 rounds to 1; in float32 it shows.
  const Product p{16, 16, 16, 1, false, false, false, false};
  GemmArgs args = arguments(p);
  args.lda = args.ldb = args.ldc = 16;
  const auto sum = [&](bool allow_tf32, float value) {
    const Device device = emulated_cuda(allow_tf32);
    const Tensor a = Tensor::from(std::vector<float>(256, value), {16, 16}, device);
    const Tensor c = Tensor::empty({16, 16}, DType::kFloat32, device);
    backend(c).gemm(args, a, a, Tensor(), c);
    return to_doubles(c).front();
  };
  constexpr float kBetween = 1 + 0x1p-12F;
  CHECK(sum(false, kBetween) > 16);
  CHECK(sum(true, kBetween) == 16);
  CHECK(sum(true, 1 + 0x1p-10F) > 16);
}

TEST_CASE("gpu: products of all layouts and sizes", "[backend][gpu]") {
  const Device device = any_gpu();
  if (!device.defined()) return;
  // The last ones are large enough for CLBlast.
  const std::vector<Product> products = {
      {1, 1, 1, 1, false, false, false, false},     {5, 70, 33, 1, false, true, true, false},
      {65, 3, 129, 4, true, false, false, false},   {64, 64, 0, 1, false, false, true, false},
      {37, 41, 16, 3, true, true, true, true},      {0, 4, 4, 1, false, false, false, false},
      {260, 250, 270, 1, false, true, true, false}, {300, 256, 260, 1, true, false, false, false},
      {130, 150, 300, 3, false, false, true, true}, {140, 150, 280, 3, true, true, false, false}};
  for (const Product& p : products) {
    for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kBFloat16}) {
      INFO(fmt::format("{} x {} x {}, batch {}, {}", p.m, p.n, p.k, p.batch, name_of(dtype)));
      const Tensor expected = multiply(p, dtype, make_cpu(1));
      const Tensor actual = multiply(p, dtype, device);
      const double one = dtype == DType::kFloat64 ? 1e-12 : dtype == DType::kFloat32 ? 1e-4 : 0.3;
      CHECK(max_difference(actual, expected) <= one);
      CHECK(to_doubles(multiply(p, dtype, device)) == to_doubles(actual));
    }
  }
}
