// Losses on a device whose memory the host cannot read.
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "tests/support/opaque.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("cross_entropy: off the host too the mean is over the rows that count", "[ops][host]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64);
  const auto labels = GENERATE(values<std::vector<std::int64_t>>(
      {{1, -100, 3, -100, 0}, {1, 2, 3, 4, 0}, {-100, -100, -100, -100, -100}}));
  const Device away = make_opaque();
  const Tensor logits = random_tensor({5, 6}, 1, dtype);
  const Tensor target = Tensor::from(labels, {5}, cpu());
  const Tensor there = trainable(ops::to(logits, away));
  const Tensor here = trainable(logits);
  const Tensor want = ops::cross_entropy(here, target);
  const Tensor got = ops::cross_entropy(there, ops::to(target, away));
  CHECK(max_difference(ops::to(got, cpu()), want) == 0.0);
  autograd::backward(want);
  autograd::backward(got);
  CHECK(max_difference(ops::to(there.grad(), cpu()), here.grad()) == 0.0);
  double sum = 0;
  double counted = 0;
  const auto rows =
      to_doubles(ops::cross_entropy(logits, target, {.reduction = ops::Reduction::kNone}));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sum += rows[i];
    counted += labels[i] != -100 ? 1 : 0;
  }
  CHECK(to_doubles(want)[0] == Approx(sum / std::max(1.0, counted)).epsilon(1e-6));
}

TEST_CASE("cross_entropy: on the meta device too", "[ops]") {
  const Device meta = make_meta();
  const Tensor logits = trainable(Tensor::empty({5, 6}, DType::kFloat32, meta));
  const Tensor loss = ops::cross_entropy(logits, Tensor::empty({5}, DType::kInt64, meta));
  CHECK(loss.shape() == Shape{});
  autograd::backward(loss);
  CHECK(logits.grad().shape() == Shape{5, 6});
}
