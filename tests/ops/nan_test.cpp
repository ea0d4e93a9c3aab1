// What is not a number must come out again.
#include <cmath>
#include <limits>

#include "ops/attention/attention.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/reduce.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Two rows: `other` with a NaN at `place`, and without.
Tensor two_rows(std::int64_t n, std::int64_t place, double other, DType dtype) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < 2 * n; ++i) {
    const double number = i < n ? other : 0.1 * static_cast<double>(i % 7);
    values.push_back(i == place ? kNan : number);
  }
  return ops::cast(Tensor::from(values, {2, n}, cpu()), dtype);
}

bool all_nan(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  return std::all_of(values.begin() + static_cast<std::ptrdiff_t>(begin),
                     values.begin() + static_cast<std::ptrdiff_t>(end),
                     [](double value) { return std::isnan(value); });
}

}  // namespace

TEST_CASE("softmax, log_softmax, cross_entropy: a NaN makes its row NaN, and only that", "[ops]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64);
  const std::int64_t n = GENERATE(1, 2, 5, 16, 37, 70);
  for (const double other : {-kInf, -3.0, 1000.0}) {
    for (std::int64_t place = 0; place < n; ++place) {
      CAPTURE(name_of(dtype), n, place, other);
      const Tensor x = two_rows(n, place, other, dtype);
      const Tensor target = Tensor::from<std::int64_t>({n - 1, n - 1}, {2}, cpu());
      const auto width = static_cast<std::size_t>(n);
      for (const auto& values : {to_doubles(ops::softmax(x)), to_doubles(ops::log_softmax(x))}) {
        REQUIRE(all_nan(values, 0, width));
        for (std::size_t i = width; i < 2 * width; ++i) REQUIRE(std::isfinite(values[i]));
      }
      const auto losses =
          to_doubles(ops::cross_entropy(x, target, {.reduction = ops::Reduction::kNone}));
      REQUIRE(std::isnan(losses[0]));
      REQUIRE(std::isfinite(losses[1]));
    }
  }
}

TEST_CASE("softmax: a NaN that may not be seen changes nothing", "[ops]") {
  const Tensor x = two_rows(5, 4, 1.0, DType::kFloat32);
  const Tensor mask = Tensor::from<std::uint8_t>({1, 1, 1, 1, 0}, {1, 5}, cpu());
  for (const double value : to_doubles(ops::softmax(x, mask))) CHECK(std::isfinite(value));
  const Tensor nothing = Tensor::from<std::uint8_t>({0, 0, 0, 0, 0}, {1, 5}, cpu());
  for (const double value : to_doubles(ops::softmax(x, nothing))) CHECK(value == 0.0);
}

TEST_CASE("attention: a NaN in a query makes its row NaN, one in a key every row", "[ops]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64);
  const std::int64_t n = GENERATE(1, 3, 8, 16, 40);
  const bool in_key = GENERATE(false, true);
  const std::int64_t place = GENERATE(0, 1);
  CAPTURE(name_of(dtype), n, in_key, place);
  const std::int64_t row = place == 0 ? 0 : n - 1;
  const auto numbers = [&](std::uint64_t seed, bool broken) {
    const Tensor x = random_tensor({1, n, 4}, seed);
    if (broken) {
      edit<double>(x, [&](auto values) { values[static_cast<std::size_t>(4 * row)] = kNan; });
    }
    return ops::cast(x, dtype);
  };
  const Tensor q = numbers(1, !in_key);
  const Tensor k = numbers(2, in_key);
  const auto view = [](const Tensor& x) { return ops::heads(x, 1, 4, 0, 4); };
  const auto out = to_doubles(ops::attention(view(q), view(k), view(numbers(3, false)), {}));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto begin = static_cast<std::size_t>(4 * i);
    if (in_key || i == row) {
      CHECK(all_nan(out, begin, begin + 4));
    } else {
      for (std::size_t j = begin; j < begin + 4; ++j) CHECK(std::isfinite(out[j]));
    }
  }
}

TEST_CASE("max, min, argmax, argmin: a NaN wins", "[ops]") {
  const std::int64_t n = GENERATE(2, 9, 40);
  for (std::int64_t place = 0; place < n; ++place) {
    CAPTURE(n, place);
    const Tensor x = two_rows(n, place, 1.5, DType::kFloat32);
    for (const Tensor& y : {ops::max(x, {1}), ops::min(x, {1})}) {
      CHECK(std::isnan(to_doubles(y)[0]));
      CHECK(std::isfinite(to_doubles(y)[1]));
    }
    CHECK(ops::argmax(x).host_values<std::int64_t>()[0] == place);
    CHECK(ops::argmin(x).host_values<std::int64_t>()[0] == place);
    CHECK(ops::argmin(x).host_values<std::int64_t>()[1] != place + n);
  }
}

TEST_CASE("every map of one operand: NaN stays NaN", "[ops]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64, DType::kBFloat16);
  const Tensor x = ops::cast(Tensor::from<double>({kNan}, {1}, cpu()), dtype);
  using Function = Tensor (*)(Tensor);
  const std::vector<std::pair<const char*, Function>> functions = {
      {"exp", ops::exp},
      {"log", ops::log},
      {"log1p", ops::log1p},
      {"expm1", ops::expm1},
      {"sqrt", ops::sqrt},
      {"rsqrt", ops::rsqrt},
      {"reciprocal", ops::reciprocal},
      {"square", ops::square},
      {"abs", ops::abs},
      {"sin", ops::sin},
      {"cos", ops::cos},
      {"tanh", ops::tanh},
      {"sigmoid", ops::sigmoid},
      {"erf", ops::erf},
      {"relu", ops::relu},
      {"gelu", ops::gelu},
      {"gelu_tanh", ops::gelu_tanh},
      {"quick_gelu", ops::quick_gelu},
      {"silu", ops::silu},
      {"elu", [](Tensor t) { return ops::elu(t); }},
      {"softplus", ops::softplus},
      {"clamp", [](Tensor t) { return ops::clamp(t, -1, 1); }}};
  for (const auto& [name, function] : functions) {
    CAPTURE(name, name_of(dtype));
    CHECK(std::isnan(to_doubles(function(x))[0]));
  }
}
