// CTC against the sum over all paths written out, its gradient, and sequences that no path gives.
#include "ops/losses/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/graph.h"
#include "base/error.h"
#include "ops/create.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers collapsed(const Numbers& path, std::int64_t blank) {
  Numbers target;
  for (std::size_t t = 0; t < path.size(); ++t) {
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) target.push_back(path[t]);
  }
  return target;
}

// -log of the probabilities of all paths that become the target, of logits (1, t, symbols).
double written_out(const Tensor& logits, const Numbers& target, std::int64_t blank) {
  const std::int64_t t = logits.size(1), symbols = logits.size(2);
  const std::vector<double> logs = to_doubles(ops::log_softmax(logits));
  Numbers path(static_cast<std::size_t>(t), 0);
  double sum = 0;
  while (true) {
    if (collapsed(path, blank) == target) {
      double log_p = 0;
      for (std::int64_t i = 0; i < t; ++i)
        log_p += logs[static_cast<std::size_t>(i * symbols + path[static_cast<std::size_t>(i)])];
      sum += std::exp(log_p);
    }
    std::size_t digit = 0;
    while (digit < path.size() && ++path[digit] == symbols) path[digit++] = 0;
    if (digit == path.size()) return -std::log(sum);
  }
}

Tensor row(const Numbers& target) { return Tensor::from(target, {1, std::ssize(target)}, cpu()); }

Tensor loss_of(const Tensor& logits, const Numbers& target, ops::CtcOptions options = {}) {
  return ops::ctc_loss(logits, row(target), {logits.size(1)}, {std::ssize(target)}, options);
}

}  // namespace

TEST_CASE("ctc_loss: it is what the sum over all paths gives", "[ops]") {
  const Tensor logits = random_tensor({1, 5, 3}, 3);
  const std::int64_t blank = GENERATE(0, 2);
  const std::int64_t a = blank == 0 ? 2 : 0, b = 1;
  for (const Numbers& target : std::vector<Numbers>{
           {}, {a}, {b}, {a, b}, {a, a}, {b, b, a}, {a, a, a}, {a, b, a, b}, {b, a, b, a, b}}) {
    CAPTURE(blank, target);
    const double loss = loss_of(logits, target, {.blank = blank}).item<double>();
    CHECK(loss == Approx(written_out(logits, target, blank)).epsilon(1e-12));
  }
}

TEST_CASE("ctc_loss: gradients, with sequences and targets of different lengths", "[ops]") {
  const Tensor targets =
      Tensor::from<std::int64_t>({1, 1, 2, 0, 0, 0, 3, 2, 3, 1, 0, 0}, {4, 3}, cpu());
  check_gradients(
      [&](const auto& t) {
        return ops::ctc_loss(t[0], targets, {7, 4, 6, 1}, {3, 0, 3, 1});
      },
      {random_tensor({4, 7, 4}, 8)});
}

TEST_CASE("ctc_loss: frames behind the end have no gradient and no influence", "[ops]") {
  const Tensor logits = random_tensor({1, 6, 4}, 5);
  const Tensor part = trainable(ops::clone(ops::slice(logits, 1, 0, 4)));
  const Tensor whole = trainable(ops::clone(logits));
  const Tensor short_loss = loss_of(part, {1, 3});
  const Tensor loss = ops::ctc_loss(whole, row({1, 3}), {4}, {2});
  CHECK(loss.item<double>() == short_loss.item<double>());
  autograd::backward(loss, ops::ones_like(loss));
  autograd::backward(short_loss, ops::ones_like(loss));
  CHECK(max_difference(ops::slice(whole.grad(), 1, 0, 4), part.grad()) == 0);
  CHECK(largest(to_doubles(ops::slice(whole.grad(), 1, 4, 2))) == 0);
}

TEST_CASE("ctc_loss: a target too long costs infinity, or nothing where asked", "[ops]") {
  const Tensor targets = Tensor::from<std::int64_t>({1, 1, 1, 2}, {2, 2}, cpu());
  const auto run = [&](bool zero_infinity) {
    const Tensor logits = trainable(random_tensor({2, 2, 3}, 4));
    const Tensor loss =
        ops::ctc_loss(logits, targets, {2, 2}, {2, 2}, {.zero_infinity = zero_infinity});
    autograd::backward(loss, ops::ones_like(loss));
    return std::pair(to_doubles(loss), to_doubles(logits.grad()));
  };
  const auto [losses, gradients] = run(false);
  CHECK(losses[0] == std::numeric_limits<double>::infinity());
  CHECK(std::isfinite(losses[1]));
  CHECK(std::isnan(gradients[0]));
  CHECK(std::isfinite(gradients[6]));
  const auto [ignored, none] = run(true);
  CHECK(ignored[0] == 0);
  CHECK(ignored[1] == losses[1]);
  CHECK(largest({none.begin(), none.begin() + 6}) == 0);
  CHECK(none[6] == gradients[6]);
}

TEST_CASE("ctc_loss: recordings without frames", "[ops]") {
  const Tensor logits = random_tensor({2, 3, 3}, 4);
  const Tensor targets = Tensor::from<std::int64_t>({0, 1}, {2, 1}, cpu());
  const std::vector<double> losses = to_doubles(ops::ctc_loss(logits, targets, {0, 0}, {0, 1}));
  CHECK(losses[0] == 0);
  CHECK(losses[1] == std::numeric_limits<double>::infinity());
  CHECK(ops::ctc_loss(random_tensor({0, 3, 3}, 1), ops::zeros({0, 2}, DType::kInt64, cpu()), {}, {})
            .shape() == Shape{0});
}

TEST_CASE("ctc_loss: sequences of thousands of frames stay finite; NaN is not hidden", "[ops]") {
  Tensor logits = random_tensor({1, 4000, 6}, 9, DType::kFloat32);
  Numbers target;
  for (std::int64_t i = 0; i < 700; ++i) target.push_back(1 + i % 5);
  const float loss = loss_of(logits, target).item<float>();
  CHECK(std::isfinite(loss));
  CHECK(loss > 100);
  edit<float>(logits, [](auto values) { values[17] = std::nanf(""); });
  CHECK(std::isnan(loss_of(logits, target).item<float>()));
}

TEST_CASE("ctc_loss: the only path that arrives counts, however unlikely beside others", "[ops]") {
  // As many frames as symbols, and blanks e^scale times as likely: after a frame the path that
  // arrives is e^-scale of the one that stays in front, after 300 frames e^(-300 scale).
  const double scale = GENERATE(5.0, 400.0, 1e4, 1e9);
  constexpr std::int64_t frames = 300;
  CAPTURE(scale);
  Numbers target;
  std::vector<double> values;
  double expected = 0;
  for (std::int64_t t = 0; t < frames; ++t) {
    target.push_back(1 + t % 2);
    values.insert(values.end(), {scale, 0.0, -1.0});
    expected += scale + std::log1p(std::exp(-scale) + std::exp(-1 - scale)) + (t % 2 == 0 ? 0 : 1);
  }
  const Tensor logits = trainable(Tensor::from(values, {1, frames, 3}, cpu()));
  const Tensor loss = loss_of(logits, target);
  CHECK(loss.item<double>() == Approx(expected).epsilon(1e-13));
  autograd::backward(loss, ops::ones_like(loss));
  const std::vector<double> gradient = to_doubles(logits.grad());
  double worst = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const std::size_t symbol = i % 3;
    const double softmax =
        std::exp(values[i] - scale) / (1 + std::exp(-scale) + std::exp(-1 - scale));
    const double chosen = symbol == 1 + i / 3 % 2 ? 1 : 0;
    worst = std::max(worst, std::abs(gradient[i] - (softmax - chosen)));
  }
  CHECK(worst < 1e-12);
}

TEST_CASE("ctc_frames: symbols, and blanks between equal ones", "[ops]") {
  const auto frames = [](const Numbers& t) { return ops::ctc_frames(t.data(), std::ssize(t)); };
  CHECK(frames({}) == 0);
  CHECK(frames({1, 2, 1}) == 3);
  CHECK(frames({1, 1, 2, 2, 2}) == 8);
}

TEST_CASE("ctc_loss: what does not fit is refused", "[ops]") {
  const Tensor logits = random_tensor({2, 4, 3}, 1);
  const Tensor targets = Tensor::from<std::int64_t>({1, 2, 1, 0}, {2, 2}, cpu());
  CHECK_THROWS_WITH(ops::ctc_loss(logits, targets, {4, 4}, {2, 2}),
                    "ctc_loss: a target holds 0; expected 0 to 2 and not the blank 0");
  CHECK_THROWS_WITH(ops::ctc_loss(logits, targets, {4, 5}, {2, 1}),
                    "ctc_loss: an input length is 5; expected 0 to 4");
  CHECK_THROWS_WITH(ops::ctc_loss(logits, targets, {4, 4}, {2, 3}),
                    "ctc_loss: a target length is 3; expected 0 to 2");
  CHECK_THROWS_WITH(ops::ctc_loss(logits, targets, {4}, {2, 1}),
                    "ctc_loss: 1 lengths, an input each; expected 2");
  CHECK_THROWS_WITH(ops::ctc_loss(logits, targets, {4, 4}, {2, 1}, {.blank = 3}),
                    "ctc_loss: blank is 3; expected 0 to 2");
  CHECK_THROWS_AS(ops::ctc_loss(random_tensor({4, 3}, 1), targets, {4, 4}, {2, 1}), ShapeError);
  CHECK_THROWS_AS(ops::ctc_loss(logits, random_tensor({2, 2}, 1), {4, 4}, {2, 1}), ShapeError);
}
