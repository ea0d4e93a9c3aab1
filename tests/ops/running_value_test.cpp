#include "ops/running_value.h"

#include "base/error.h"
#include "ops/conv/convolution.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/scaled_sum.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

constexpr std::int64_t kBatch = 2, kChannels = 3;

// before, w, x, kernel, scale, weight and bias of the norm.
std::vector<Tensor> operands(std::int64_t h, std::int64_t w, DType dtype = DType::kFloat64) {
  const DType computed = compute_dtype(dtype);
  const Shape map{kBatch, kChannels, h, w};
  const Shape planes{kBatch, kChannels};
  return {ops::cast(random_tensor(map, 1, computed), dtype),
          random_tensor(planes, 2, computed),
          ops::cast(random_tensor(map, 3, computed), dtype),
          random_tensor({kChannels, 1, 3, 3}, 4, computed),
          random_tensor(planes, 5, computed),
          random_tensor({kChannels}, 6, computed),
          random_tensor({kChannels}, 7, computed)};
}

struct Mode {
  bool training = true, relu = true, add_x = true, before = true, keep = true;
};

ops::BatchNorm norm_of(const std::vector<Tensor>& t, const Mode& mode) {
  const DType dtype = t[5].dtype();
  return {t[5], t[6], random_tensor({kChannels}, 8, dtype),
          ops::cast(uniform_tensor({kChannels}, 0.5, 2, 9), dtype), mode.training};
}

// One sample is dropped, the others are larger for it.
Tensor keep_of(const Mode& mode, DType dtype) {
  if (!mode.keep) return {};
  const Tensor kept = Tensor::from(std::vector<double>{0, 2}, {kBatch, 1}, cpu());
  return ops::cast(ops::reshape(ops::expand(kept, {kBatch, kChannels}), {kBatch, kChannels}),
                   dtype);
}

ops::RunningValue fused(const std::vector<Tensor>& t, const Mode& mode) {
  return ops::running_value(norm_of(t, mode), {mode.relu, mode.add_x, keep_of(mode, t[1].dtype())},
                            mode.before ? t[0] : Tensor(), t[1], t[2], t[3], t[4]);
}

ops::RunningValue composed(const std::vector<Tensor>& t, const Mode& mode) {
  const Tensor u = ops::scaled_sum(mode.before ? t[0] : Tensor(), t[1], t[2]);
  const Tensor v =
      ops::scaled_sum({}, t[4], ops::conv(u, t[3], {}, {.padding = {1}, .groups = kChannels}));
  Tensor o = ops::batch_norm(norm_of(t, mode), v, {}, mode.relu);
  if (mode.keep) o = ops::scaled_sum({}, keep_of(mode, t[1].dtype()), o);
  return {u, mode.add_x ? ops::add(t[2], o) : o};
}

// Every result and gradient; upstream of the sum and of y where `both`, else of one of them.
enum class Upstream { kBoth, kSum, kY };
std::vector<Tensor> all_results(const std::vector<Tensor>& operands, const Mode& mode,
                                Upstream from,
                                ops::RunningValue (*function)(const std::vector<Tensor>&,
                                                              const Mode&)) {
  std::vector<Tensor> t;
  for (const Tensor& operand : operands) t.push_back(trainable(ops::mul(operand, 1.0).detach()));
  const ops::RunningValue made = function(t, mode);
  const DType dtype = made.y.dtype();
  const auto weighted = [&](const Tensor& x, std::uint64_t seed) {
    return ops::mul(x, ops::cast(random_tensor(x.shape(), seed, compute_dtype(dtype)), dtype));
  };
  Tensor loss;
  if (from == Upstream::kSum) loss = weighted(made.sum, 10);
  if (from == Upstream::kY) loss = weighted(made.y, 11);
  if (from == Upstream::kBoth) loss = ops::add(weighted(made.sum, 10), weighted(made.y, 11));
  autograd::backward(loss, ops::ones_like(loss.detach()));
  std::vector<Tensor> results{made.sum.detach(), made.y.detach()};
  for (const Tensor& operand : t) {
    results.push_back(operand.grad().defined() ? operand.grad()
                                               : ops::zeros_like(operand.detach()));
  }
  return results;
}

}  // namespace

TEST_CASE("running_value: equals the composed form, with all gradients", "[ops]") {
  // Widths of parts of a vector, whole ones, and several.
  const auto size = GENERATE(values<std::pair<std::int64_t, std::int64_t>>(
      {{1, 1}, {1, 5}, {4, 1}, {3, 2}, {7, 7}, {5, 8}, {4, 9}, {3, 16}, {2, 33}, {140, 3}}));
  const std::vector<Tensor> t = operands(size.first, size.second);
  for (const bool training : {true, false}) {
    for (const Mode mode :
         {Mode{training}, Mode{training, false}, Mode{training, true, false},
          Mode{training, true, true, false}, Mode{training, true, true, true, false}}) {
      for (const Upstream from : {Upstream::kBoth, Upstream::kSum, Upstream::kY}) {
        CAPTURE(size.first, size.second, training, mode.relu, mode.add_x, mode.before, mode.keep,
                static_cast<int>(from));
        const std::vector<Tensor> expected = all_results(t, mode, from, composed);
        const std::vector<Tensor> found = all_results(t, mode, from, fused);
        for (std::size_t i = 0; i < found.size(); ++i) {
          CAPTURE(i);
          CHECK(max_difference(found[i], expected[i]) < 1e-10);
        }
      }
    }
  }
}

TEST_CASE("running_value: gradients through a chain of layers", "[ops]") {
  check_gradients(
      [](const auto& t) {
        const ops::RunningValue one = fused(t, {});
        std::vector<Tensor> next = t;
        next[0] = one.sum;
        next[2] = one.y;
        const ops::RunningValue two = fused(next, {.relu = false});
        return ops::add(ops::sin(two.sum), two.y);
      },
      operands(3, 4));
}

TEST_CASE("running_value: less precise types are near float64", "[ops]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kBFloat16);
  const double tolerance = dtype == DType::kFloat32 ? 1e-5 : 0.03;
  const std::vector<Tensor> rough = operands(6, 18, dtype);
  std::vector<Tensor> exact;
  for (const Tensor& operand : rough) exact.push_back(ops::cast(operand, DType::kFloat64));
  const Mode mode{.relu = false};
  const std::vector<Tensor> expected = all_results(exact, mode, Upstream::kBoth, fused);
  const std::vector<Tensor> found = all_results(rough, mode, Upstream::kBoth, fused);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(name_of(dtype), i);
    double largest = 0;
    for (const double value : to_doubles(expected[i])) largest = std::max(largest, std::abs(value));
    CHECK(max_difference(found[i], expected[i]) < tolerance * largest);
  }
}

TEST_CASE("running_value: maps larger than the caches equal their items", "[ops]") {
  const std::vector<Tensor> t = operands(704, 672, DType::kFloat32);
  for (const bool training : {true, false}) {
    const ops::BatchNorm norm = norm_of(t, {training});
    const ops::RunningValue whole = ops::running_value(norm, {}, t[0], t[1], t[2], t[3], t[4]);
    // With the statistics of the batch, and those that were given.
    ops::BatchNorm fixed = norm_of(t, {false});
    if (training) {
      const Tensor u = ops::scaled_sum(t[0], t[1], t[2]);
      const Tensor v =
          ops::scaled_sum({}, t[4], ops::conv(u, t[3], {}, {.padding = {1}, .groups = kChannels}));
      const auto rows = [](const Tensor& x) {
        return ops::reshape(ops::transpose(x, 0, 1), {kChannels, -1});
      };
      fixed.running_mean = ops::mean(rows(v), {1});
      fixed.running_var = ops::mean(
          ops::square(ops::sub(rows(v), ops::reshape(fixed.running_mean, {kChannels, 1}))), {1});
    }
    for (std::int64_t item = 0; item < kBatch; ++item) {
      std::vector<Tensor> of;
      for (const int i : {0, 1, 2, 4})
        of.push_back(ops::slice(t[static_cast<std::size_t>(i)], 0, item, 1));
      const ops::RunningValue alone =
          ops::running_value(fixed, {}, of[0], of[1], of[2], t[3], of[3]);
      CAPTURE(training, item);
      CHECK(max_difference(ops::slice(whole.sum, 0, item, 1), alone.sum) == 0);
      CHECK(max_difference(ops::slice(whole.y, 0, item, 1), alone.y) < (training ? 1e-4 : 1e-30));
    }
  }
}

TEST_CASE("running_value: moves the running statistics as a batch norm does", "[ops]") {
  const std::vector<Tensor> t = operands(4, 5);
  const ops::BatchNorm one = norm_of(t, {});
  const ops::BatchNorm two = norm_of(t, {});
  ops::running_value(one, {}, t[0], t[1], t[2], t[3], t[4]);
  const Tensor u = ops::scaled_sum(t[0], t[1], t[2]);
  ops::batch_norm(
      two,
      ops::scaled_sum({}, t[4], ops::conv(u, t[3], {}, {.padding = {1}, .groups = kChannels})));
  CHECK(max_difference(one.running_mean, two.running_mean) < 1e-12);
  CHECK(max_difference(one.running_var, two.running_var) < 1e-12);
}

TEST_CASE("running_value: frees everything after backward", "[ops]") {
  const std::int64_t before = cpu().allocator().stats().bytes_in_use;
  {
    const std::vector<Tensor> t = operands(8, 8);
    all_results(t, {}, Upstream::kBoth, fused);
    all_results(t, {}, Upstream::kSum, fused);
  }
  CHECK(cpu().allocator().stats().bytes_in_use == before);
}

TEST_CASE("running_value: operands that do not fit are refused", "[ops]") {
  std::vector<Tensor> t = operands(4, 5);
  t[3] = random_tensor({kChannels, 1, 5, 5}, 1);
  CHECK_THROWS_WITH(fused(t, {}), Catch::Contains("running_value: kernel is float64 (3, 1, 5, 5); "
                                                  "expected float64 (3, 1, 3, 3)"));
  t = operands(4, 5);
  t[0] = random_tensor({kBatch, kChannels, 4, 4}, 1);
  CHECK_THROWS_WITH(fused(t, {}), Catch::Contains("running_value: before is"));
  t = operands(1, 1);
  t[2] = random_tensor({1, kChannels, 1, 1}, 1);
  CHECK_THROWS_AS(fused(t, {}), ShapeError);
}
