// Losses on a device whose memory the host cannot read.
#include <cstring>

#include "backend/backend.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Kernels of the host on memory of their own, between copies.
class Away final : public Backend {
 public:
  std::string name() const override { return "away"; }
  void copy_from_host(const void* from, const Tensor& y) const override {
    std::memcpy(y.raw(), from, static_cast<std::size_t>(y.bytes()));
  }
  void copy_to_host(const Tensor& x, void* to) const override {
    std::memcpy(to, x.raw(), static_cast<std::size_t>(x.bytes()));
  }
  void fill(const Tensor& y, double value) const override {
    on_host([&](const Tensor& t) { host().fill(t, value); }, y);
  }
  void cast(const Tensor& x, const Tensor& y) const override {
    on_host([&](const Tensor& t) { host().cast(here(x), t); }, y);
  }
  void unary(UnaryOp op, UnaryParams params, const Tensor& x, const Tensor& y) const override {
    on_host([&](const Tensor& t) { host().unary(op, params, here(x), t); }, y);
  }
  void binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& y) const override {
    on_host([&](const Tensor& t) { host().binary(op, here(a), here(b), t); }, y);
  }
  void reduce(ReduceOp op, const Tensor& x, const Tensor& y) const override {
    on_host([&](const Tensor& t) { host().reduce(op, here(x), t); }, y);
  }
  void copy(const CopyArgs& args, const Tensor& x, const Tensor& y) const override {
    on_host([&](const Tensor& t) { host().copy(args, here(x), t); }, y);
  }
  void cross_entropy(double smoothing, std::int64_t ignore, const Tensor& logits,
                     const Tensor& target, const Tensor& loss, const Tensor& lse) const override {
    const Tensor loss_here = here(loss);
    host().cross_entropy(smoothing, ignore, here(logits), here(target), loss_here, here(lse));
    std::memcpy(loss.raw(), loss_here.raw(), static_cast<std::size_t>(loss.bytes()));
    // (Any log-sum-exp will do for backward below.)
  }
  void cross_entropy_backward(double smoothing, std::int64_t ignore, const Tensor& logits,
                              const Tensor& target, const Tensor&, const Tensor& dloss,
                              const Tensor& dlogits) const override {
    const Tensor rows = here(dloss);
    const Tensor lse = Tensor::empty_like(rows);
    host().cross_entropy(smoothing, ignore, here(logits), here(target), Tensor::empty_like(rows),
                         lse);
    on_host(
        [&](const Tensor& t) {
          host().cross_entropy_backward(smoothing, ignore, here(logits), here(target), lse, rows,
                                        t);
        },
        dlogits);
  }

 private:
  static const Backend& host() { return cpu().backend(); }
  static Tensor here(const Tensor& x) {
    const Tensor y = Tensor::empty(x.shape(), x.dtype(), cpu());
    std::memcpy(y.raw(), x.raw(), static_cast<std::size_t>(x.bytes()));
    return y;
  }
  template <class Body>
  static void on_host(const Body& body, const Tensor& y) {
    const Tensor result = here(y);
    body(result);
    std::memcpy(y.raw(), result.raw(), static_cast<std::size_t>(y.bytes()));
  }
};

}  // namespace

TEST_CASE("cross_entropy: off the host too the mean is over the rows that count", "[ops]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64);
  const auto labels = GENERATE(values<std::vector<std::int64_t>>(
      {{1, -100, 3, -100, 0}, {1, 2, 3, 4, 0}, {-100, -100, -100, -100, -100}}));
  const Device away(DeviceType::kOpenCl, heap_memory(), std::make_shared<const Away>());
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
