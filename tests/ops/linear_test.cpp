#include "ops/linear.h"

#include <cmath>
#include <vector>

#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("matmul: gradients with transposes, stacks and shared operands", "[ops]") {
  const bool ta = GENERATE(false, true);
  const bool tb = GENERATE(false, true);
  const auto a_shape = [&](Shape lead, std::int64_t m, std::int64_t k) {
    lead.push_back(ta ? k : m);
    lead.push_back(ta ? m : k);
    return lead;
  };
  const auto b_shape = [&](Shape lead, std::int64_t k, std::int64_t n) {
    lead.push_back(tb ? n : k);
    lead.push_back(tb ? k : n);
    return lead;
  };
  const auto product = [&](const auto& t) { return ops::matmul(t[0], t[1], ta, tb); };
  check_gradients(product,
                  {random_tensor(a_shape({}, 3, 4), 1), random_tensor(b_shape({}, 4, 5), 2)});
  check_gradients(
      product, {random_tensor(a_shape({2, 2}, 3, 4), 1), random_tensor(b_shape({2, 2}, 4, 1), 2)});
  check_gradients(product,
                  {random_tensor(a_shape({3}, 2, 3), 1), random_tensor(b_shape({}, 3, 4), 2)});
  check_gradients(product,
                  {random_tensor(a_shape({}, 2, 3), 1), random_tensor(b_shape({3}, 3, 4), 2)});
  check_gradients([&](const auto& t) { return ops::matmul(t[0], t[0], ta, !ta); },
                  {random_tensor({2, 3, 4}, 3)});
}

TEST_CASE("matmul: tall products equal an explicit loop", "[ops]") {
  const Tensor a = random_tensor({700, 9}, 1);
  const Tensor b = random_tensor({9, 33}, 2);
  const auto left = to_doubles(a);
  const auto right = to_doubles(b);
  const auto c = to_doubles(ops::matmul(a, b));
  for (std::size_t i = 0; i < 700; i += 37) {
    for (std::size_t j = 0; j < 33; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 9; ++k) sum += left[i * 9 + k] * right[k * 33 + j];
      CHECK(c[i * 33 + j] == Approx(sum).margin(1e-12));
    }
  }
  CHECK_THROWS_WITH(ops::matmul(a, a),
                    Catch::Contains("matmul: inner sizes differ: a is (700, 9), b is (700, 9)"));
}

TEST_CASE("matmul: products of any shape and layout are exact to their type", "[ops]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kBFloat16);
  const bool ta = GENERATE(false, true);
  const bool tb = GENERATE(false, true);
  // Sizes on both sides of what the kernels for large products work in, and far more depth than
  // they hold at once.
  const auto [m, n, k] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t>(
      {{128, 16, 32}, {145, 49, 33}, {160, 64, 512}, {300, 40, 1100}, {131, 290, 63}}));
  const auto wide = [](Tensor x) {  // magnitudes over twenty powers of two
    edit<float>(x, [](auto values) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::ldexp(values[i], static_cast<int>(i * 7 % 20) - 10);
    });
    return x;
  };
  const Tensor a =
      ops::cast(wide(random_tensor(ta ? Shape{k, m} : Shape{m, k}, 1, DType::kFloat32)), dtype);
  const Tensor b =
      ops::cast(wide(random_tensor(tb ? Shape{n, k} : Shape{k, n}, 2, DType::kFloat32)), dtype);
  const auto absolute = [](const Tensor& x) { return ops::abs(ops::cast(x, DType::kFloat64)); };
  const auto got = to_doubles(ops::matmul(a, b, ta, tb));
  const auto want =
      to_doubles(ops::matmul(ops::cast(a, DType::kFloat64), ops::cast(b, DType::kFloat64), ta, tb));
  const auto size = to_doubles(ops::matmul(absolute(a), absolute(b), ta, tb));
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::abs(got[i] - want[i]) / size[i]);
  CAPTURE(m, n, k, ta, tb);
  // One chain of multiply-adds comes to 2^-20, a part of an operand left out to 2^-17. In bfloat16
  // the result is rounded.
  CHECK(worst < std::ldexp(1.0, dtype == DType::kFloat32 ? -19 : -8));
}

TEST_CASE("linear: gradients of input, weight and bias", "[ops]") {
  check_gradients([](const auto& t) { return ops::linear(t[0], t[1], t[2]); },
                  {random_tensor({2, 3, 4}, 1), random_tensor({5, 4}, 2), random_tensor({5}, 3)});
  check_gradients([](const auto& t) { return ops::linear(t[0], t[1]); },
                  {random_tensor({1, 1}, 1), random_tensor({3, 1}, 2)});
  CHECK_THROWS_AS(ops::linear(random_tensor({2, 3}, 1), random_tensor({4, 5}, 2)), ShapeError);
}

TEST_CASE("linear, norms: the same bits for any number of threads over many rows", "[ops][host]") {
  // Enough rows to sum the gradients of parameters in more pieces, the last one shorter.
  check_threads([](const auto& t) { return ops::linear(t[0], t[1], t[2]); },
                {{8500, 128}, {256, 128}, {256}});
  check_threads([](const auto& t) { return ops::layer_norm(t[0], t[1], t[2], 1e-6); },
                {{8300, 256}, {256}, {256}});
}

TEST_CASE("linear: gradients of the weight over many rows are those of float64", "[ops]") {
  const Shape rows{8500, 256};
  const Tensor x = random_tensor(rows, 1);
  const Tensor dy = random_tensor(rows, 2);
  const auto gradient = [&](DType dtype) {
    const Tensor w = trainable(ops::cast(random_tensor({256, 256}, 3), dtype));
    autograd::backward(ops::linear(ops::cast(x, dtype), w), ops::cast(dy, dtype));
    return ops::cast(w.grad(), DType::kFloat64);
  };
  CHECK(max_difference(gradient(DType::kFloat32), gradient(DType::kFloat64)) < 2e-3);
}

TEST_CASE("results have the same bits for any number of threads", "[ops][host]") {
  const auto run = [](int threads) {
    const Device device = make_cpu(threads);
    const auto make = [&](const Shape& shape, std::uint64_t seed) {
      return trainable(random_tensor(shape, seed, DType::kFloat32).copy_on(device));
    };
    const Tensor x = make({5, 130, 48}, 1);
    const Tensor w = make({96, 48}, 2);
    const Tensor b = make({96}, 3);
    const Tensor g = make({96}, 4);
    const Tensor y = ops::layer_norm(ops::gelu(ops::linear(x, w, b)), g, b, 1e-6);
    autograd::backward(ops::mean(ops::square(ops::softmax(y))));
    std::vector<float> bits;
    for (const Tensor& t : {y, x.grad(), w.grad(), b.grad(), g.grad()}) {
      const auto values = t.host_values<float>();
      bits.insert(bits.end(), values.begin(), values.end());
    }
    return bits;
  };
  const auto one = run(1);
  CHECK(one == run(2));
  CHECK(one == run(3));
  CHECK(one == run(5));
}

TEST_CASE("layer_norm and rms_norm: gradients with and without affine parts", "[ops]") {
  const auto dim = GENERATE(1, 2, 7, 16, 37);
  const Tensor x = random_tensor({2, 3, dim}, 1);
  const Tensor w = random_tensor({dim}, 2);
  const Tensor b = random_tensor({dim}, 3);
  if (dim > 1) {  // a single centred channel is constant: its derivative is below the step's noise
    check_gradients([](const auto& t) { return ops::layer_norm(t[0], t[1], t[2], 1e-3); },
                    {x, w, b});
    check_gradients([](const auto& t) { return ops::layer_norm(t[0], {}, {}, 1e-3); }, {x});
  }
  check_gradients([](const auto& t) { return ops::rms_norm(t[0], t[1], 1e-3); }, {x, w});
  check_gradients([](const auto& t) { return ops::rms_norm(t[0], {}, 1e-3); }, {x});
}

TEST_CASE("layer_norm: rows have mean 0 and variance 1 also far from zero", "[ops]") {
  const Tensor x = ops::add(random_tensor({4, 100}, 5, DType::kFloat32), 1000.0);
  const Tensor y = ops::layer_norm(x, {}, {}, 1e-6);
  for (const double mean : to_doubles(ops::mean(y, {1}))) CHECK(mean == Approx(0.0).margin(2e-4));
  const Tensor squares = ops::square(ops::sub(y, ops::mean(y, {1}, true)));
  for (const double var : to_doubles(ops::mean(squares, {1})))
    CHECK(var == Approx(1.0).epsilon(1e-3));
}

TEST_CASE("layer_norm: gradients of rows so far from zero that mean / deviation overflows",
          "[ops]") {
  // Five: what is behind the last channel must not meet infinity.
  const std::vector<float> far(5, std::ldexp(1.0F, 123));
  const Tensor x = trainable(Tensor::from<float>(far, {1, 5}, cpu()));
  const Tensor y = ops::layer_norm(x, {}, {}, 1e-4);
  autograd::backward(y, Tensor::from<float>({1, 2, 3, 4, 5}, {1, 5}, cpu()));
  const std::vector<double> found = to_doubles(x.grad());
  for (std::size_t i = 0; i < 5; ++i)
    CHECK(found[i] == Approx(100.0 * (static_cast<double>(i) - 2.0)).epsilon(1e-5));
}

TEST_CASE("layer_norm and rms_norm: a row has the same bits alone and among others",
          "[ops][host]") {
  const auto dtype = GENERATE(DType::kFloat32, DType::kBFloat16, DType::kFloat64);
  const auto dim = GENERATE(5, 16, 37);
  const bool centred = GENERATE(true, false);
  constexpr std::int64_t kRows = 11;  // groups of four and of two, and a row left of both
  const DType wide = compute_dtype(dtype);
  const Tensor x = ops::cast(random_tensor({kRows, dim}, 1), dtype).detach();
  const Tensor dy = ops::cast(random_tensor({kRows, dim}, 2), dtype);
  const Tensor w = ops::cast(random_tensor({dim}, 3), wide);
  const Tensor b = ops::cast(random_tensor({dim}, 4), wide);
  for (const bool affine : {true, false}) {
    CAPTURE(name_of(dtype), dim, centred, affine);
    const auto run = [&](std::int64_t first, std::int64_t rows) {
      const Tensor part = trainable(ops::slice(x, 0, first, rows).detach());
      const Tensor weight = affine ? w : Tensor();
      const Tensor y = centred ? ops::layer_norm(part, weight, affine ? b : Tensor(), 1e-5)
                               : ops::rms_norm(part, weight, 1e-5);
      autograd::backward(y, ops::slice(dy, 0, first, rows));
      std::vector<double> found = to_doubles(y);
      const std::vector<double> slopes = to_doubles(part.grad());
      found.insert(found.end(), slopes.begin(), slopes.end());
      return found;
    };
    const std::vector<double> whole = run(0, kRows);
    for (std::int64_t r = 0; r < kRows; ++r) {
      const std::vector<double> alone = run(r, 1);
      for (std::int64_t c = 0; c < dim; ++c) {
        const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
        REQUIRE(alone[at(c)] == whole[at(r * dim + c)]);
        REQUIRE(alone[at(dim + c)] == whole[at((kRows + r) * dim + c)]);
      }
    }
  }
}

TEST_CASE("cross_entropy: gradients with smoothing, ignored rows and reductions", "[ops]") {
  const Tensor target = Tensor::from<std::int64_t>({1, 4, -100, 0}, {4}, cpu());
  const double smoothing = GENERATE(0.0, 0.1);
  for (const auto reduction :
       {ops::Reduction::kMean, ops::Reduction::kSum, ops::Reduction::kNone}) {
    check_gradients(
        [&](const auto& t) {
          return ops::cross_entropy(t[0], target, {smoothing, -100, reduction});
        },
        {random_tensor({4, 5}, 1)});
  }
  const Tensor none = Tensor::from<std::int64_t>({-100}, {1}, cpu());
  CHECK(ops::cross_entropy(random_tensor({1, 5}, 1), none).item<double>() == 0.0);
}

TEST_CASE("cross_entropy: a class out of range is refused where the host sees it", "[ops][host]") {
  const Tensor bad = Tensor::from<std::int64_t>({5}, {1}, cpu());
  CHECK_THROWS_WITH(ops::cross_entropy(random_tensor({1, 5}, 1), bad),
                    Catch::Contains("target 5 is outside [0, 5)"));
}

TEST_CASE("cross_entropy: uniform logits give log(classes), huge ones stay finite", "[ops]") {
  const Tensor target = Tensor::from<std::int64_t>({2}, {1}, cpu());
  CHECK(ops::cross_entropy(ops::mul(random_tensor({1, 8}, 1), 0.0), target).item<double>() ==
        Approx(std::log(8.0)));
  const Tensor huge = Tensor::from<double>({1e4, -1e4, 0}, {1, 3}, cpu());
  CHECK(ops::cross_entropy(huge, target).item<double>() == Approx(1e4));
}

TEST_CASE("bce_with_logits and mse: gradients and extreme logits", "[ops]") {
  const Tensor target = uniform_tensor({3, 4}, 0, 1, 2);
  check_gradients([&](const auto& t) { return ops::bce_with_logits(t[0], target); },
                  {random_tensor({3, 4}, 1)});
  check_gradients([&](const auto& t) { return ops::mse(t[0], t[1]); },
                  {random_tensor({3, 4}, 1), random_tensor({3, 4}, 3)});
  const Tensor x = Tensor::from<double>({800, -800}, {2}, cpu());
  const Tensor t = Tensor::from<double>({1, 0}, {2}, cpu());
  CHECK(ops::bce_with_logits(x, t).item<double>() == 0.0);
}

TEST_CASE("linear: a result that no cache holds is that of its halves", "[ops]") {
  const auto [dtype, out] = GENERATE(table<DType, std::int64_t>({{DType::kFloat32, 128},
                                                                 {DType::kFloat32, 144},
                                                                 {DType::kFloat32, 131},
                                                                 {DType::kBFloat16, 288}}));
  const std::int64_t half = 34800;  // rows; the last panel of 32 is not full
  const Tensor x = ops::cast(random_tensor({2 * half, 32}, 1, DType::kFloat32), dtype);
  const Tensor weight = random_tensor({out, 32}, 2, DType::kFloat32);
  const Tensor bias = random_tensor({out}, 3, DType::kFloat32);
  const Tensor whole = ops::linear(x, weight, bias);
  REQUIRE(whole.bytes() > 32 << 20);
  for (std::int64_t i = 0; i < 2; ++i) {
    const Tensor part = ops::linear(ops::slice(x, 0, i * half, half), weight, bias);
    // Without AVX-512 products are OpenBLAS's, which adds up the rows at the end of a piece in
    // another order: a rounding of sums up to 32 of either type.
    const double rounding = dtype == DType::kFloat32 ? 2e-5 : 0.125;
    const double allowed = __builtin_cpu_supports("avx512f") ? 0.0 : rounding;
    CHECK(max_difference(ops::slice(whole, 0, i * half, half), part) <= allowed);
  }
}

TEST_CASE("linear: the gradient of the input takes the memory of the input", "[ops][host]") {
  const Device device = make_cpu(1);
  const auto filled = [&](const Shape& shape) {
    return ops::full(shape, 0.5, DType::kFloat32, device);
  };
  const Tensor y = ops::linear(ops::linear(filled({1024, 1}), trainable(filled({256, 1}))),
                               trainable(filled({1, 256})));
  const std::int64_t before = device.allocator().stats().bytes_in_use;
  device.allocator().reset_peak();
  autograd::backward(y, filled({1024, 1}));
  CHECK(device.allocator().stats().peak_bytes - before < 1024 * 256 * 4 / 2);
}
