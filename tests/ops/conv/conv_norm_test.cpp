// Convolutions behind norms of maps: inputs that are made again in backward instead of being kept.
#include "ops/conv/convolution.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;
using ops::ConvOptions;

TEST_CASE("conv: an input that is made again gives the gradients of one that is kept",
          "[ops][long]") {
  struct Case {
    Shape x, w;
    std::int64_t stride, padding, groups;
  };
  // One pixel, in whole planes and in parts of them, and with many items; oneDNN, in whole items
  // and in slabs; groups; depthwise; patches.
  const auto sizes = GENERATE(values<Case>({{{35, 24, 9, 11}, {10, 24, 1, 1}, 1, 0, 1},
                                            {{2, 96, 63, 67}, {8, 96, 1, 1}, 1, 0, 1},
                                            {{150, 64, 8, 8}, {16, 64, 1, 1}, 1, 0, 1},
                                            {{3, 12, 8, 8}, {12, 6, 1, 1}, 1, 0, 2},
                                            {{37, 16, 10, 12}, {8, 16, 3, 3}, 2, 1, 1},
                                            {{2, 32, 50, 40}, {16, 32, 3, 3}, 1, 1, 1},
                                            {{2, 6, 9, 7}, {6, 1, 3, 3}, 1, 1, 6},
                                            {{3, 5, 7, 3}, {4, 5, 1, 1}, 3, 2, 1}}));
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64, DType::kBFloat16);
  const DType computed = compute_dtype(dtype);
  const bool residual = GENERATE(true, false);
  CAPTURE(to_string(sizes.x), to_string(sizes.w), name_of(dtype), residual);
  const auto run = [&](bool kept) {
    const auto activations = [&](std::uint64_t seed) {
      return trainable(ops::cast(random_tensor(sizes.x, seed, computed), dtype));
    };
    const Tensor x = activations(1);
    const Tensor w = trainable(random_tensor(sizes.w, 2, computed));
    const Tensor b = trainable(random_tensor({sizes.x[1]}, 3, computed));
    const Tensor r = residual ? activations(4) : Tensor();
    Tensor y = ops::batch_norm({{}, b, {}, {}, true, 0.1, 1e-5}, x, r, true);
    if (kept) y = ops::mul(y, 1.0);
    const ConvOptions options{{sizes.stride}, {sizes.padding}, {1}, sizes.groups};
    const Tensor z = ops::conv(y, w, {}, options);
    autograd::backward(z, ops::cast(random_tensor(z.shape(), 5, computed), dtype));
    std::vector<Tensor> results{z, x.grad(), w.grad(), b.grad()};
    if (residual) results.push_back(r.grad());
    return results;
  };
  const std::vector<Tensor> made = run(false);
  const std::vector<Tensor> kept = run(true);
  for (std::size_t i = 0; i < made.size(); ++i) {
    CAPTURE(i);
    CHECK(max_difference(made[i], kept[i]) == 0);
  }
}

TEST_CASE("conv: gradients along a chain of residual blocks", "[ops]") {
  // Inputs of convolutions that are made again alternate with some that are kept.
  const bool training = GENERATE(true, false);
  const Tensor mean = random_tensor({3}, 4);
  const Tensor var = uniform_tensor({3}, 0.5, 2, 5);
  check_gradients(
      [&](const auto& t) {
        const auto norm = [&] {
          return ops::BatchNorm{t[3], {}, ops::clone(mean), ops::clone(var), training, 0.1, 1e-3};
        };
        Tensor x = ops::batch_norm(norm(), t[0]);
        for (int block = 0; block < 3; ++block) {
          Tensor y = ops::batch_norm(norm(), ops::conv(x, t[1], {}, {}), {}, true);
          y = ops::conv(y, t[2], {}, {{1}, {1}});
          x = ops::batch_norm(norm(), y, x, true);
        }
        return x;
      },
      {random_tensor({2, 3, 4, 3}, 1), random_tensor({3, 3, 1, 1}, 2),
       random_tensor({3, 3, 3, 3}, 3), uniform_tensor({3}, 0.5, 1.5, 6)});
}

TEST_CASE("conv: what a batch norm can make again is not kept for backward", "[ops][host]") {
  const Device device = make_cpu(1);
  const Shape shape{2, 4, 32, 32};
  const auto tensor = [&](const Shape& sizes) {
    const Tensor x = ops::random_normal(sizes, 0, 1, RandomStream(1), DType::kFloat32, device);
    x.set_requires_grad(true);
    return x;
  };
  const Tensor w = tensor({4, 4, 1, 1});
  const auto block = [&](const Tensor& x) {
    Tensor y = ops::batch_norm({}, ops::conv(x, w, {}, {}), {}, true);
    return ops::batch_norm({}, ops::conv(y, w, {}, {}), x, true);
  };
  Tensor x = tensor(shape);
  const std::int64_t bytes = x.bytes();
  const auto held = [&] { return device.allocator().stats().bytes_in_use / bytes; };
  const std::int64_t before = held();
  for (int i = 0; i < 4; ++i) x = block(x);
  // Of a block the results of its two convolutions, of every second one its own.
  CHECK(held() - before == 4 * 2 + 2);
}

TEST_CASE("conv: gradients along a chain of group norms and ReLUs", "[ops]") {
  check_gradients(
      [&](const auto& t) {
        Tensor x = t[0];
        for (int layer = 0; layer < 3; ++layer)
          x = ops::relu(ops::conv(ops::group_norm(x, 2, t[2], t[3], 1e-3), t[1], {}, {{1}, {1}}));
        return x;
      },
      {random_tensor({2, 4, 4, 3}, 1), random_tensor({4, 4, 3, 3}, 2),
       uniform_tensor({4}, 0.5, 1.5, 3), random_tensor({4}, 4)});
}

TEST_CASE("conv: one map a layer is kept of group norm, convolution and ReLU", "[ops][host]") {
  const Device device = make_cpu(1);
  const auto tensor = [&](const Shape& sizes) {
    return trainable(ops::random_normal(sizes, 0, 1, RandomStream(1), DType::kFloat32, device));
  };
  const Tensor w = tensor({4, 4, 1, 1});
  Tensor x = tensor({2, 4, 32, 32});
  const std::int64_t bytes = x.bytes();
  const std::int64_t before = device.allocator().stats().bytes_in_use;
  for (int layer = 0; layer < 4; ++layer)
    x = ops::relu(ops::conv(ops::group_norm(x, 2, {}, {}, 1e-5), w, {}, {}));
  const std::int64_t held = device.allocator().stats().bytes_in_use - before;
  CHECK(held >= 4 * bytes);
  CHECK(held < 5 * bytes);
}

TEST_CASE("conv: the same bits for any number of threads behind a batch norm", "[ops][host]") {
  check_threads(
      [](const auto& t) {
        const Tensor y = ops::batch_norm({t[1], {}, {}, {}}, t[0], t[2], true);
        return ops::conv(ops::conv(y, t[3], {}, {}), t[4], {}, {{1}, {1}});
      },
      {{19, 8, 9, 11}, {8}, {19, 8, 9, 11}, {12, 8, 1, 1}, {6, 12, 3, 3}});
}

TEST_CASE("conv: the gradient of the input takes the memory of the input", "[ops][host]") {
  const Device device = make_cpu(1);
  const auto filled = [&](const Shape& shape) {
    return ops::full(shape, 0.5, DType::kFloat32, device);
  };
  const Tensor y =
      ops::conv(ops::conv(filled({1, 1, 64, 64}), trainable(filled({64, 1, 1, 1})), {}, {}),
                trainable(filled({1, 64, 1, 1})), {}, {});
  const std::int64_t before = device.allocator().stats().bytes_in_use;
  device.allocator().reset_peak();
  autograd::backward(y, filled({1, 1, 64, 64}));
  CHECK(device.allocator().stats().peak_bytes - before < 64 * y.bytes() / 2);
}

TEST_CASE("conv: behind it a norm of fixed statistics keeps nothing in every second block",
          "[ops][host]") {
  const Device device = make_cpu(1);
  const auto tensor = [&](const Shape& sizes, std::uint64_t seed) {
    return trainable(ops::random_normal(sizes, 0, 1, RandomStream(seed), DType::kFloat32, device));
  };
  const auto run = [&](bool keep) {
    const Tensor w = tensor({4, 4, 1, 1}, 1), scale = tensor({4}, 2), shift = tensor({4}, 3);
    const ops::BatchNorm norm{scale, shift, tensor({4}, 4).detach(),
                              ops::full({4}, 2, DType::kFloat32, device), false};
    const Tensor first = tensor({2, 4, 32, 32}, 5);
    const std::int64_t before = device.allocator().stats().bytes_in_use / first.bytes();
    Tensor x = first;
    for (int block = 0; block < 4; ++block) {
      const Tensor inner = ops::batch_norm(norm, ops::conv(x, w, {}, {}), {}, true);
      Tensor last = ops::conv(inner, w, {}, {});
      if (keep) last = ops::add(last, 0.0);  // a result without a recipe
      x = ops::batch_norm(norm, last, x, true);
    }
    const std::int64_t held = device.allocator().stats().bytes_in_use / first.bytes() - before;
    autograd::backward(ops::sum(x));
    std::vector<double> all;
    for (const Tensor& t : {w, scale, shift, first}) {
      const auto values = to_doubles(t.grad());
      all.insert(all.end(), values.begin(), values.end());
    }
    return std::pair{held, all};
  };
  const auto [held, found] = run(false);
  const auto [most, expected] = run(true);
  // Of a block the results of its two convolutions, but of every second one its own instead of the
  // last one's.
  CHECK(held == 4 * 2);
  CHECK(most == 4 * 2 + 2);
  CHECK(found == expected);
}
