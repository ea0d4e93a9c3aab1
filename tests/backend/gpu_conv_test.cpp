// Convolutions on a graphics processor: as products of matrices and, for few channels, directly.
#include <fmt/format.h>

#include "backend/backend.h"
#include "ops/elementwise.h"
#include "tests/backend/emulated_cuda.h"
#include "tests/support/gpu.h"

using namespace fovea;
using namespace fovea::test;

namespace {

struct Case {
  Shape x, weight;
  ConvArgs args;
};

Shape output_of(const Case& c) {
  Shape y = c.x;
  y[1] = c.weight[0];
  for (int axis = 2; axis < c.x.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis - 2);
    const std::int64_t reach = c.args.dilation[i] * (c.weight[axis] - 1) + 1;
    y[axis] = (c.x[axis] + 2 * c.args.padding[i] - reach) / c.args.stride[i] + 1;
  }
  return y;
}

// y, dx and dweight.
std::vector<Tensor> results(const Case& c, DType dtype, const Device& device) {
  const DType wide = compute_dtype(dtype);
  const auto made = [&](const Shape& shape, std::uint64_t seed, DType as) {
    return ops::cast(random_tensor(shape, seed), as).copy_on(device);
  };
  const Tensor x = made(c.x, 1, dtype);
  const Tensor weight = made(c.weight, 2, wide);
  const Tensor bias = made({c.weight[0]}, 3, wide);
  const Tensor dy = made(output_of(c), 4, dtype);
  const Tensor y = Tensor::empty_like(dy);
  const Tensor dx = Tensor::empty_like(x);
  const Tensor dweight = Tensor::empty_like(weight);
  const Backend& kernels = backend(x);
  kernels.conv(c.args, x, weight, bias, y);
  kernels.conv_backward_data(c.args, weight, dy, dx);
  kernels.conv_backward_weight(c.args, x, dy, dweight);
  return {y, dx, dweight};
}

}  // namespace

// Emulated: CUDA's text for the host.
TEST_CASE("gpu: convolutions on tensor cores", "[backend][fibers]") {
  const Case c{{1, 10, 7, 5}, {20, 5, 3, 3}, {{1, 2}, {1, 1}, {1, 1}, 2}};
  const auto compare = [&](DType dtype, bool allow_tf32, double share) {
    const std::vector<Tensor> expected = results(c, dtype, make_cpu(1));
    const std::vector<Tensor> actual = results(c, dtype, emulated_cuda(allow_tf32));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO(name_of(dtype) << ", result " << i);
      CHECK(max_difference(actual[i], expected[i]) <=
            share * std::max(1.0, largest(to_doubles(expected[i]))));
    }
  };
  compare(DType::kBFloat16, false, 0.02);
  compare(DType::kFloat32, true, 1e-3);
}

TEST_CASE("gpu: convolutions and their gradients", "[backend][gpu]") {
  const Device device = any_gpu();
  if (!device.defined()) return;
  const std::vector<Case> cases = {
      {{2, 9, 7, 5}, {10, 9, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 70, 9, 8}, {66, 70, 3, 2}, {{2, 3}, {2, 0}, {1, 2}, 1}},
      {{1, 24, 11, 6}, {32, 12, 3, 3}, {{1, 2}, {1, 1}, {2, 1}, 2}},  // products, two groups
      {{3, 6, 8, 8}, {6, 1, 5, 5}, {{1, 1}, {2, 2}, {1, 1}, 6}},      // depthwise
      {{2, 3, 16, 16}, {16, 3, 4, 4}, {{4, 4}, {0, 0}, {1, 1}, 1}},
      {{2, 8, 40}, {16, 8, 3}, {{1}, {1}, {1}, 1}},
      {{1, 8, 4, 6, 5}, {9, 8, 3, 3, 3}, {{1, 2, 1}, {1, 1, 1}, {1, 1, 1}, 1}},
      {{2, 8, 50, 50}, {8, 8, 1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1}},  // positions in several pieces
      {{0, 8, 4, 4}, {8, 8, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}}};
  for (const Case& c : cases) {
    for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kBFloat16}) {
      const std::vector<Tensor> expected = results(c, dtype, make_cpu(1));
      const std::vector<Tensor> actual = results(c, dtype, device);
      const std::vector<Tensor> again = results(c, dtype, device);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        INFO(fmt::format("x {}, weight {}, {}, result {}", to_string(c.x), to_string(c.weight),
                         name_of(dtype), i));
        const double share = dtype == DType::kFloat64   ? 1e-13
                             : dtype == DType::kFloat32 ? 2e-6
                                                        : 0.02;
        CHECK(max_difference(actual[i], expected[i]) <=
              share * std::max(1.0, largest(to_doubles(expected[i]))));
        CHECK(to_doubles(again[i]) == to_doubles(actual[i]));
      }
    }
  }
}
