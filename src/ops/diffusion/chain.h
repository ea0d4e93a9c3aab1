// The noise of a diffusion process, step by step, as plain numbers. mala 4.7; names are those of
// facebookresearch/DiT (Nichol and Dhariwal, "Improved denoising diffusion probabilistic models",
// ICML 2021).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fovea::ops {

enum class BetaSchedule {
  kLinear,
  kSquaredCosine,  // squaredcos_cap_v2: alphas_cumprod follows cos^2, betas are at most 0.999
};

struct BetaOptions {
  BetaSchedule schedule = BetaSchedule::kLinear;
  std::int64_t steps = 1000;
  // Of the linear one; none: 0.0001 and 0.02 times 1000 / steps.
  std::optional<double> beta_start = {};
  std::optional<double> beta_end = {};
};

/// One a step. Throws ConfigError for fewer than two steps and for values outside (0, 1).
std::vector<double> noise_betas(const BetaOptions& options);

/// The steps that a chain with fewer of them keeps, ascending. `spacing` is a number ("250": spread
/// evenly from the first to the last), numbers for as many equal parts of the chain ("10,15,20"),
/// "ddim50" (every so-manieth, from 0), or "" for all. Throws ConfigError where that is impossible.
std::vector<std::int64_t> respaced_steps(std::int64_t steps, const std::string& spacing);

/// What follows from the betas; a number a step:
///   q(x_t | x_0) = N(sqrt(a_t) x_0, 1 - a_t),  a = alphas_cumprod
///   q(x_{t-1} | x_t, x_0) = N(coef1 x_0 + coef2 x_t, posterior_variance)
struct DiffusionChain {
  std::vector<double> betas, alphas_cumprod, alphas_cumprod_prev;
  std::vector<double> posterior_variance, posterior_log_variance_clipped;
  std::vector<double> posterior_mean_coef1, posterior_mean_coef2;
  std::vector<std::int64_t> timesteps;  // which a network is told of each

  std::int64_t steps() const { return std::ssize(betas); }
};

/// Timesteps are 0, 1, ...
DiffusionChain diffusion_chain(const std::vector<double>& betas);
/// The chain of these steps of another, which are ascending: between two of them as much noise
/// comes as in all of that between them.
DiffusionChain respaced(const DiffusionChain& chain, const std::vector<std::int64_t>& steps);

}  // namespace fovea::ops
