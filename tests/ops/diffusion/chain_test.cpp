#include "ops/diffusion/chain.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;

using Numbers = std::vector<std::int64_t>;

TEST_CASE("diffusion chain: the linear schedule of 1000 steps", "[ops]") {
  const std::vector<double> betas = ops::noise_betas({});
  REQUIRE(betas.size() == 1000);
  CHECK(betas.front() == 0.0001);
  CHECK(betas.back() == 0.02);
  const ops::DiffusionChain chain = ops::diffusion_chain(betas);
  CHECK(chain.steps() == 1000);
  CHECK(chain.alphas_cumprod.back() == Approx(4.0358e-05).epsilon(1e-4));
  // Both coefficients of the first step back leave x_0 alone, whose variance is the next one's.
  CHECK(chain.posterior_mean_coef1.front() == Approx(1));
  CHECK(chain.posterior_mean_coef2.front() == 0);
  CHECK(chain.posterior_variance.front() == 0);
  CHECK(chain.posterior_log_variance_clipped[0] == chain.posterior_log_variance_clipped[1]);
}

TEST_CASE("diffusion chain: fewer steps of the linear schedule add as much noise", "[ops]") {
  const double many = ops::diffusion_chain(ops::noise_betas({})).alphas_cumprod.back();
  const double few = ops::diffusion_chain(ops::noise_betas({.steps = 100})).alphas_cumprod.back();
  CHECK(few == Approx(many).margin(2e-5));
}

TEST_CASE("diffusion chain: which steps are kept", "[ops]") {
  CHECK(ops::respaced_steps(10, "") == Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(ops::respaced_steps(10, "4") == Numbers{0, 3, 6, 9});
  CHECK(ops::respaced_steps(10, "3") == Numbers{0, 4, 9});  // 4.5 goes to the even number
  CHECK(ops::respaced_steps(10, "1") == Numbers{0});
  CHECK(ops::respaced_steps(11, "2,3") == Numbers{0, 5, 6, 8, 10});
  CHECK(ops::respaced_steps(10, "ddim5") == Numbers{0, 2, 4, 6, 8});
  CHECK(ops::respaced_steps(10, "ddim10").size() == 10);
  const Numbers published = ops::respaced_steps(1000, "250");
  for (std::int64_t k = 0; k < 250; ++k)
    CHECK(std::abs(static_cast<double>(published[static_cast<std::size_t>(k)]) -
                   static_cast<double>(k) * 999 / 249) <= 0.5 + 1e-9);
}

TEST_CASE("diffusion chain: a spacing that cannot be is refused", "[ops]") {
  for (const char* spacing : {"11", "0", "-2", "x", "2x", "ddim", "ddim6", "6,5"}) {
    CAPTURE(spacing);
    CHECK_THROWS_AS(ops::respaced_steps(10, spacing), ConfigError);
  }
  CHECK_THROWS_AS(ops::noise_betas({.steps = 1}), ConfigError);
  CHECK_THROWS_AS(ops::noise_betas({.steps = 10}), ConfigError);  // beta 2 at the end
  CHECK_THROWS_AS(ops::noise_betas({.steps = 20}), ConfigError);  // nothing is left of the image
  CHECK_THROWS_AS(ops::diffusion_chain({}), ConfigError);
}

TEST_CASE("diffusion chain: a respaced chain has the noise of the steps that it keeps", "[ops]") {
  const ops::DiffusionChain chain = ops::diffusion_chain(
      ops::noise_betas({.schedule = ops::BetaSchedule::kSquaredCosine, .steps = 60}));
  const Numbers kept = ops::respaced_steps(60, "7");
  const ops::DiffusionChain fewer = ops::respaced(chain, kept);
  CHECK(fewer.timesteps == kept);
  REQUIRE(fewer.steps() == 7);
  for (std::size_t i = 0; i < 7; ++i)
    CHECK(fewer.alphas_cumprod[i] ==
          Approx(chain.alphas_cumprod[static_cast<std::size_t>(kept[i])]).epsilon(1e-12));
  CHECK_THROWS_AS(ops::respaced(chain, {60}), ConfigError);
}
