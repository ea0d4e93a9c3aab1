#include "ops/losses/loss.h"

#include <cmath>
#include <limits>
#include <optional>

#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/support/opaque.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("cross_entropy: values and gradients equal explicit loops at any width", "[ops]") {
  const std::int64_t classes = GENERATE(1, 2, 3, 7, 8, 9, 16, 17, 33, 1000);
  const double smoothing = GENERATE(0.0, 0.1);
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64);
  CAPTURE(classes, smoothing, name_of(dtype));
  const std::int64_t rows = 5;
  // Far apart, so that most of a row's terms vanish.
  const Tensor logits = trainable(ops::mul(random_tensor({rows, classes}, 3, dtype), 20).detach());
  std::vector<std::int64_t> labels;
  for (std::int64_t r = 0; r < rows; ++r) labels.push_back(r == 2 ? -100 : r * 7 % classes);
  const Tensor loss =
      ops::cross_entropy(logits, Tensor::from(labels, {rows}, cpu()),
                         {.label_smoothing = smoothing, .reduction = ops::Reduction::kNone});
  autograd::backward(loss, ops::ones_like(loss));
  const std::vector<double> x = to_doubles(logits.detach());
  const std::vector<double> found = to_doubles(loss.detach());
  const std::vector<double> gradient = to_doubles(logits.grad());
  const double tolerance = dtype == DType::kFloat64 ? 1e-12 : 1e-5;
  for (std::int64_t r = 0; r < rows; ++r) {
    const double* row = x.data() + r * classes;
    const double top = *std::max_element(row, row + classes);
    double total = 0, sum = 0;
    for (std::int64_t j = 0; j < classes; ++j) {
      total += std::exp(row[j] - top);
      sum += row[j];
    }
    const double lse = top + std::log(total);
    const std::int64_t label = labels[static_cast<std::size_t>(r)];
    const bool counts = label >= 0;
    const double mean = sum / static_cast<double>(classes);
    const double expected = counts ? lse - (1 - smoothing) * row[label] - smoothing * mean : 0;
    CHECK(std::abs(found[static_cast<std::size_t>(r)] - expected) <=
          tolerance * (1 + std::abs(expected)));
    for (std::int64_t j = 0; j < classes; ++j) {
      const double target =
          (j == label ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
      const double slope = counts ? std::exp(row[j] - lse) - target : 0;
      CHECK(std::abs(gradient[static_cast<std::size_t>(r * classes + j)] - slope) <= tolerance);
    }
  }
}

TEST_CASE("cross_entropy: classes that are ruled out, and what is not a number", "[ops]") {
  // By the kernel of the device, and by the default body.
  std::optional<InPlaceOfCpu> in_place;
  if (GENERATE(false, true)) in_place.emplace(make_opaque(OpaqueKernels::kPrimitives));
  const double never = -std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {1, never, 1, never, never, 1, never, never, never,
                                      1, 2,     3, 4,     nan,   6, 7,     8,     9};
  const Tensor x =
      ops::cast(Tensor::from(values, {2, 9}, cpu()), GENERATE(DType::kFloat32, DType::kFloat64));
  const Tensor loss = ops::cross_entropy(x, Tensor::from<std::int64_t>({0, 0}, {2}, cpu()),
                                         {.reduction = ops::Reduction::kNone});
  CHECK(to_doubles(loss)[0] == Approx(std::log(3.0)));
  CHECK(std::isnan(to_doubles(loss)[1]));
}

TEST_CASE("log_softmax: the same as logarithms of sums at any width", "[ops]") {
  const std::int64_t n = GENERATE(1, 5, 8, 9, 31, 200);
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64);
  const Tensor x = ops::mul(random_tensor({4, n}, 2, dtype), 5);
  const std::vector<double> values = to_doubles(x);
  const std::vector<double> found = to_doubles(ops::log_softmax(x));
  for (std::size_t r = 0; r < 4; ++r) {
    const auto width = static_cast<std::size_t>(n);
    double total = 0;
    for (std::size_t j = 0; j < width; ++j) total += std::exp(values[r * width + j]);
    for (std::size_t j = 0; j < width; ++j)
      CHECK(found[r * width + j] == Approx(values[r * width + j] - std::log(total)).margin(1e-5));
  }
}

TEST_CASE("soft_cross_entropy: of one class it is cross_entropy", "[ops]") {
  const double smoothing = GENERATE(0.0, 0.1);
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64);
  const Tensor logits = random_tensor({4, 5}, 3, dtype);
  const std::vector<std::int64_t> labels = {3, 0, 4, 3};
  std::vector<double> onehot(20, 0.0);
  for (std::size_t r = 0; r < 4; ++r) onehot[5 * r + static_cast<std::size_t>(labels[r])] = 1;
  const Tensor target = ops::cast(Tensor::from(onehot, {4, 5}, cpu()), dtype);
  const auto reduction =
      GENERATE(ops::Reduction::kNone, ops::Reduction::kMean, ops::Reduction::kSum);
  const ops::CrossEntropyOptions options{.label_smoothing = smoothing, .reduction = reduction};
  const Tensor a = trainable(ops::mul(logits, 1).detach());
  const Tensor b = trainable(ops::mul(logits, 1).detach());
  const Tensor soft = ops::soft_cross_entropy(a, target, options);
  const Tensor hard = ops::cross_entropy(b, Tensor::from(labels, {4}, cpu()), options);
  const double tolerance = dtype == DType::kFloat64 ? 1e-13 : 2e-6;
  CHECK(max_difference(soft, hard) < tolerance);
  autograd::backward(ops::sum(soft));
  autograd::backward(ops::sum(hard));
  CHECK(max_difference(a.grad(), b.grad()) < tolerance);
}

TEST_CASE("soft_cross_entropy: linear in the target, with a checked gradient", "[ops]") {
  const Tensor logits = random_tensor({3, 4}, 5);
  const Tensor one = ops::softmax(random_tensor({3, 4}, 6)),
               two = ops::softmax(random_tensor({3, 4}, 7));
  const ops::CrossEntropyOptions options{.label_smoothing = 0.1};
  const auto loss = [&](const Tensor& target) {
    return ops::soft_cross_entropy(logits, target, options);
  };
  const Tensor mixed = loss(ops::add(ops::mul(one, 0.3), ops::mul(two, 0.7)));
  CHECK(max_difference(mixed, ops::add(ops::mul(loss(one), 0.3), ops::mul(loss(two), 0.7))) <
        1e-13);
  check_gradients(
      [&](const auto& t) { return ops::soft_cross_entropy(t[0], one.detach(), options); },
      {logits});
  CHECK(ops::soft_cross_entropy(Tensor::empty({0, 4}, DType::kFloat64, cpu()),
                                Tensor::empty({0, 4}, DType::kFloat64, cpu()))
            .item<double>() == 0);
  CHECK_THROWS_AS(ops::soft_cross_entropy(logits, random_tensor({3, 5}, 1)), ShapeError);
  CHECK_THROWS_AS(ops::soft_cross_entropy(logits, ops::zeros({3, 4}, DType::kInt64, cpu())),
                  ShapeError);
}

TEST_CASE("cross_entropy: weights of classes are PyTorch's", "[ops]") {
  const Tensor logits =
      Tensor::from<double>({0.5, 1.0, -0.75, -1.0, 0.25, 1.5, 2.0, -0.5, 0.0}, {3, 3}, cpu());
  const auto labels = [](std::int64_t second) {
    return Tensor::from<std::int64_t>({0, second, 1}, {3}, cpu());
  };
  ops::CrossEntropyOptions o{.class_weights = {0.5, 1, 2}};
  CHECK(ops::cross_entropy(logits, labels(2), o).item<double>() == Approx(1.1036251603177856));
  o.label_smoothing = 0.1;
  CHECK(ops::cross_entropy(logits, labels(2), o).item<double>() == Approx(1.1509345302243488));
  CHECK(ops::cross_entropy(logits, labels(-100), o).item<double>() == Approx(2.2290161340369843));
  CHECK(ops::cross_entropy(logits.rows(0, 1), labels(2).rows(1, 2).alias({1}), {}).item<double>() ==
        ops::cross_entropy(logits.rows(0, 1), labels(2).rows(1, 2).alias({1}),
                           {.class_weights = {1, 1, 1}})
            .item<double>());
  check_gradients([&](const auto& t) { return ops::cross_entropy(t[0], labels(2), o); }, {logits});

  const Tensor two = Tensor::from<double>({0.5, -1, 2, 1, 0.25, -0.5}, {2, 3}, cpu());
  const Tensor soft = Tensor::from<double>({0.2, 0.3, 0.5, 1, 0, 0}, {2, 3}, cpu());
  CHECK(ops::soft_cross_entropy(two, soft, o).item<double>() == Approx(0.9131957366246809));
  o.label_smoothing = 0;
  CHECK(ops::soft_cross_entropy(two, soft, o).item<double>() == Approx(0.8259118436238374));
  check_gradients([&](const auto& t) { return ops::soft_cross_entropy(t[0], soft, o); }, {two});

  o.class_weights = {1, 2};
  CHECK_THROWS_WITH(ops::cross_entropy(logits, labels(2), o),
                    Catch::Contains("cross_entropy: 2 class_weights for 3 classes"));
  const Tensor ignored = Tensor::from<std::int64_t>({-100, -100, -100}, {3}, cpu());
  CHECK(ops::cross_entropy(logits, ignored, {.class_weights = {1, 2, 3}}).item<double>() == 0);
}
