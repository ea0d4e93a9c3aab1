#include "ops/diffusion/diffusion.h"

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "ops/create.h"
#include "ops/shape.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

namespace {

ops::DiffusionChain chain_of(std::int64_t steps) {
  return ops::diffusion_chain(
      ops::noise_betas({.schedule = ops::BetaSchedule::kSquaredCosine, .steps = steps}));
}

Tensor steps(const std::vector<std::int64_t>& values) {
  return Tensor::from(values, {std::ssize(values)}, cpu());
}

// The noise that is in x_t beside x_start, as a network's output without a variance.
Tensor noise_in(const ops::DiffusionChain& chain, const Tensor& x_start, const Tensor& x_t,
                const std::vector<std::int64_t>& t) {
  std::vector<double> values;
  const std::vector<double> starts = to_doubles(x_start), places = to_doubles(x_t);
  const auto item = static_cast<std::size_t>(x_t.numel() / x_t.size(0));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double a = chain.alphas_cumprod[static_cast<std::size_t>(t[i / item])];
    values.push_back((places[i] - std::sqrt(a) * starts[i]) / std::sqrt(1 - a));
  }
  return Tensor::from(values, x_t.shape(), cpu());
}

}  // namespace

TEST_CASE("diffusion: gradients of the loss", "[ops]") {
  const ops::DiffusionChain chain = chain_of(20);
  const Shape shape{3, 2, 2, 3};
  const Tensor start = random_tensor(shape, 1), noise = random_tensor(shape, 2);
  const Tensor t = steps({0, 4, 19});
  const Tensor x_t = ops::noised(chain, start, t, noise);
  // The mean inside the variational term has no gradient, so that the noise's comes of mse alone:
  // only the logits of the variance are checked in both.
  const Tensor eps = random_tensor(shape, 3);
  check_gradients(
      [&](const auto& in) {
        return ops::diffusion_loss(chain, ops::StepVariance::kLearnedRange,
                                   ops::concat({eps, in[0]}, 1), start, x_t, t, noise)
            .loss;
      },
      {random_tensor(shape, 4)});
  check_gradients(
      [&](const auto& in) {
        return ops::diffusion_loss(chain, ops::StepVariance::kFixedSmall, in[0], start, x_t, t,
                                   noise)
            .loss;
      },
      {random_tensor(shape, 5)});
}

TEST_CASE("diffusion: the variational term gives the noise no gradient", "[ops]") {
  const ops::DiffusionChain chain = chain_of(10);
  const Shape shape{2, 1, 2, 2};
  const Tensor start = random_tensor(shape, 1), noise = random_tensor(shape, 2);
  const Tensor output = trainable(random_tensor({2, 2, 2, 2}, 3));
  const Tensor t = steps({0, 7});
  const Tensor x_t = ops::noised(chain, start, t, noise);
  const auto loss =
      ops::diffusion_loss(chain, ops::StepVariance::kLearnedRange, output, start, x_t, t, noise);
  backward_ramp(loss.vb);
  const std::vector<double> gradient = to_doubles(output.grad());
  double of_logits = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const bool is_noise = i % 8 < 4;
    if (is_noise) CHECK(gradient[i] == 0);
    of_logits += is_noise ? 0 : std::abs(gradient[i]);
  }
  CHECK(of_logits > 0);
}

TEST_CASE("diffusion: who knows the noise has no divergence at the posterior's variance", "[ops]") {
  const ops::DiffusionChain chain = chain_of(12);
  const Shape shape{2, 1, 3, 2};
  const Tensor start = random_tensor(shape, 1), noise = random_tensor(shape, 2);
  const Tensor t = steps({3, 11});
  const Tensor x_t = ops::noised(chain, start, t, noise);
  const Tensor sure = ops::full(shape, -1, DType::kFloat64, cpu());  // the range's lower end
  const auto loss = ops::diffusion_loss(chain, ops::StepVariance::kLearnedRange,
                                        ops::concat({noise, sure}, 1), start, x_t, t, noise);
  for (const double value : to_doubles(loss.mse)) CHECK(value == 0);
  for (const double value : to_doubles(loss.vb)) CHECK(value == Approx(0).margin(1e-9));
}

TEST_CASE("diffusion: the likelihoods of all bins sum to one", "[ops]") {
  // At step 0 of x in the 256 bins from -1 to 1, whatever the network says of the noise.
  const ops::DiffusionChain chain = chain_of(6);
  double sum = 0;
  for (int bin = 0; bin < 256; ++bin) {
    const Tensor start = ops::full({1, 1, 1}, -1 + bin / 127.5, DType::kFloat64, cpu());
    const Tensor x_t = ops::full({1, 1, 1}, 0.3, DType::kFloat64, cpu());
    const Tensor output = Tensor::from(std::vector<double>{0.4, 3}, {1, 2, 1}, cpu());
    const auto loss = ops::diffusion_loss(chain, ops::StepVariance::kLearnedRange, output, start,
                                          x_t, steps({0}), x_t);
    sum += std::exp(-to_doubles(loss.vb).front() * std::numbers::ln2);
  }
  CHECK(sum == Approx(1).epsilon(1e-6));
}

TEST_CASE("diffusion: steps back with the true noise end at the image", "[ops]") {
  const ops::DiffusionChain chain = ops::respaced(chain_of(50), ops::respaced_steps(50, "9"));
  const Shape shape{2, 3, 2, 2};
  const Tensor start = random_tensor(shape, 1);
  for (const bool ddim : {false, true}) {
    for (const double eta : {0.0, 0.6}) {
      Tensor x = ops::noised(chain, start, steps({8, 8}), random_tensor(shape, 2));
      for (std::int64_t step = 8; step >= 0; --step) {
        const Tensor t = steps({step, step});
        const ops::StepBack back =
            ops::step_back(chain, {.variance = ops::StepVariance::kFixedSmall},
                           noise_in(chain, start, x, {step, step}), x, t);
        const Tensor noise = random_tensor(shape, 10 + static_cast<std::uint64_t>(step));
        x = ddim ? ops::ddim_sample(chain, back, x, t, eta, noise)
                 : ops::ddpm_sample(back, t, noise);
      }
      check_values(x, to_doubles(start));
    }
  }
}

TEST_CASE("diffusion: without eta DDIM reads no noise", "[ops]") {
  const ops::DiffusionChain chain = chain_of(5);
  const Tensor x = random_tensor({1, 2, 2}, 1);
  const ops::StepBack back = ops::step_back(chain, {.variance = ops::StepVariance::kFixedLarge},
                                            random_tensor({1, 2, 2}, 2), x, steps({3}));
  check_values(
      ops::ddim_sample(chain, back, x, steps({3}), 0, {}),
      to_doubles(ops::ddim_sample(chain, back, x, steps({3}), 0, random_tensor({1, 2, 2}, 3))));
  CHECK_THROWS_AS(ops::ddim_sample(chain, back, x, steps({3}), 0.5, random_tensor({1, 1, 2}, 3)),
                  ShapeError);
}

TEST_CASE("diffusion: guidance of all channels or of the first", "[ops]") {
  const Tensor with = ramp({1, 2, 1, 2}, 3, 7), without = ramp({1, 2, 1, 2}, 5, 11);
  const std::vector<double> a = to_doubles(with), b = to_doubles(without);
  check_values(ops::guided(with, without, 4, 1),
               {b[0] + 4 * (a[0] - b[0]), b[1] + 4 * (a[1] - b[1]), a[2], a[3]});
  check_values(ops::guided(with, without, 1, 2), a);
  check_values(ops::guided(with, without, 0, 2), b);
  CHECK_THROWS_AS(ops::guided(with, without, 2, 3), ShapeError);
}

TEST_CASE("diffusion: what does not fit is refused", "[ops][host]") {
  const ops::DiffusionChain chain = chain_of(4);
  const Tensor x = random_tensor({2, 1, 2}, 1);
  CHECK_THROWS_AS(ops::noised(chain, x, steps({1}), x), ShapeError);
  CHECK_THROWS_AS(ops::noised(chain, x, steps({1, 4}), x), ShapeError);
  CHECK_THROWS_AS(ops::noised(chain, x, steps({1, -1}), x), ShapeError);
  CHECK_THROWS_AS(ops::noised(chain, x, steps({1, 2}), random_tensor({2, 1, 3}, 1)), ShapeError);
  CHECK_THROWS_WITH(ops::step_back(chain, {}, x, x, steps({1, 2})),
                    "step_back: the network's output is (2, 1, 2) for x (2, 1, 2); expected (2, "
                    "2, 2)");
}
