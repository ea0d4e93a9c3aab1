// Relevance rules against closed forms: what flows back in place of gradients. explain A.14.
#include "ops/relevance.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "autograd/graph.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using autograd::Rule;
using autograd::WithRule;

namespace {

Tensor leaf(const Shape& shape, std::uint64_t seed) {
  const Tensor x = random_tensor(shape, seed);
  x.set_requires_grad(true);
  return x;
}

// The gradient of x in <f(x), w> for fixed w, by the rule or plainly.
std::vector<double> flowed(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                           Rule rule) {
  x.set_grad({});
  const WithRule scope(rule);
  const Tensor y = f(x);
  autograd::backward(y, random_tensor(y.shape(), 77));
  return host_doubles(x.grad());
}

void check_factor(const std::vector<double>& got, const std::vector<double>& plain, double factor) {
  REQUIRE(got.size() == plain.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(factor * plain[i]).epsilon(1e-9).margin(1e-12));
}

}  // namespace

TEST_CASE("relevance: functions of an element flow by y / x", "[ops]") {
  const std::vector<std::function<Tensor(const Tensor&)>> functions = {
      [](const Tensor& x) { return ops::gelu(x); },    [](const Tensor& x) { return ops::silu(x); },
      [](const Tensor& x) { return ops::relu(x); },    [](const Tensor& x) { return ops::tanh(x); },
      [](const Tensor& x) { return ops::sigmoid(x); }, [](const Tensor& x) { return ops::elu(x); }};
  for (const auto& f : functions) {
    const Tensor x = leaf({2, 5}, 1);
    const auto got = flowed(f, x, Rule::kAttnLrp);
    const auto y = host_doubles(f(x)), values = host_doubles(x),
               w = host_doubles(random_tensor({2, 5}, 77));
    for (std::size_t i = 0; i < got.size(); ++i)
      CHECK(got[i] == Approx(w[i] * y[i] / values[i]).epsilon(1e-6));
  }
}

TEST_CASE("relevance: a function without bias conserves relevance", "[ops]") {
  // x . g~ = y . w for functions by their ratio and norms of constant statistics without bias.
  const Tensor x = leaf({3, 6}, 2), weight = random_tensor({6}, 3);
  const auto conserved = [&](const std::function<Tensor(const Tensor&)>& f) {
    const auto g = flowed(f, x, Rule::kAttnLrp);
    const auto values = host_doubles(x), y = host_doubles(f(x)),
               w = host_doubles(random_tensor({3, 6}, 77));
    double in = 0, out = 0;
    for (std::size_t i = 0; i < g.size(); ++i) in += g[i] * values[i];
    for (std::size_t i = 0; i < y.size(); ++i) out += w[i] * y[i];
    CHECK(in == Approx(out).epsilon(1e-8));
  };
  conserved([&](const Tensor& t) { return ops::rms_norm(t, weight, 1e-6); });
  conserved([&](const Tensor& t) { return ops::layer_norm(t, weight, {}, 1e-6); });
  conserved([](const Tensor& t) { return ops::gelu(t); });
}

TEST_CASE("relevance: products give each computed factor half", "[ops]") {
  const auto square = [](const Tensor& x) { return ops::mul(x, ops::mul(x, 2)); };
  const Tensor x = leaf({2, 3}, 4);
  check_factor(flowed(square, x, Rule::kAttnLrp), flowed(square, x, Rule::kGradient), 0.5);
  const Tensor constant = random_tensor({2, 3}, 5);
  const auto scaled = [&](const Tensor& t) { return ops::mul(t, constant); };
  check_factor(flowed(scaled, x, Rule::kAttnLrp), flowed(scaled, x, Rule::kGradient), 1);
  const auto product = [](const Tensor& t) { return ops::matmul(t, t, false, true); };
  check_factor(flowed(product, x, Rule::kAttnLrp), flowed(product, x, Rule::kGradient), 0.5);
  const auto sum = [](const Tensor& t) { return ops::add_product(t, t, t); };
  const auto plain = flowed(sum, x, Rule::kGradient), got = flowed(sum, x, Rule::kAttnLrp);
  const auto w = host_doubles(random_tensor({2, 3}, 77));
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] - w[i] == Approx((plain[i] - w[i]) / 2));
}

TEST_CASE("relevance: a gated function is the product of its halves", "[ops]") {
  const Tensor x = leaf({2, 6}, 6);
  const auto swiglu = [](const Tensor& t) { return ops::swiglu(t); };
  const auto got = flowed(swiglu, x, Rule::kAttnLrp);
  const auto values = host_doubles(x), w = host_doubles(random_tensor({2, 3}, 77));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      const double a = values[i * 6 + j], b = values[i * 6 + 3 + j], s = 1 / (1 + std::exp(-a));
      CHECK(got[i * 6 + j] == Approx(w[i * 3 + j] * b * s / 2));
      CHECK(got[i * 6 + 3 + j] == Approx(w[i * 3 + j] * a * s / 2));
    }
  }
}

TEST_CASE("relevance: attention gives values half, queries and keys a quarter", "[ops]") {
  const auto attend = [](int moving) {
    return [moving](const Tensor& x) {
      const Tensor fixed = random_tensor(x.shape(), 9);
      const auto view = [&](int which) {
        return ops::heads(which == moving ? x : fixed, 2, 2, 0, 2);
      };
      return ops::attention(view(0), view(1), view(2), {.scale = 0.7});
    };
  };
  const Tensor x = leaf({2, 5, 4}, 8);
  for (const int moving : {0, 1, 2}) {
    const auto plain = flowed(attend(moving), x, Rule::kGradient);
    check_factor(flowed(attend(moving), x, Rule::kAttnLrp), plain, moving == 2 ? 0.5 : 0.25);
  }
  check_factor(flowed(attend(2), x, Rule::kCpLrp), flowed(attend(2), x, Rule::kGradient), 1);
  const WithRule constant_maps(Rule::kCpLrp);
  CHECK(!attend(0)(x).requires_grad());
}

TEST_CASE("relevance: gates of two maps make it an eighth, constants a quarter", "[ops]") {
  for (const bool gated : {false, true}) {
    const auto attend = [gated](const Tensor& x) {
      const Tensor other = random_tensor(x.shape(), 9);
      const Tensor c = random_tensor({1, 3, 1}, 10);
      if (gated) c.set_requires_grad(true);
      return ops::two_map_attention({x, {0}, 2}, {other, {0}, 2}, {x, {2}, 2}, {other, {2}, 2},
                                    {other, {0}, 4}, c, ops::neg(c), {});
    };
    const Tensor x = leaf({1, 3, 4}, 8);
    check_factor(flowed(attend, x, Rule::kAttnLrp), flowed(attend, x, Rule::kGradient),
                 gated ? 0.125 : 0.25);
  }
}

TEST_CASE("relevance: operations without a rule refuse by name", "[ops]") {
  const WithRule rule(Rule::kAttnLrp);
  const Tensor x = leaf({1, 4, 2}, 1);
  CHECK_THROWS_WITH(ops::group_norm(x, 2, {}, {}, 1e-5), Catch::Contains("group_norm"));
  CHECK_THROWS_AS(ops::div(x, x), ConfigError);
  CHECK_NOTHROW(ops::div(x, x.detach()));
}
