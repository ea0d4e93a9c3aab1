#include "ops/diffusion/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace fovea::ops {
namespace {

std::vector<double> linear_betas(const BetaOptions& o) {
  const double scale = 1000.0 / static_cast<double>(o.steps);
  const double first = o.beta_start.value_or(scale * 0.0001);
  const double last = o.beta_end.value_or(scale * 0.02);
  std::vector<double> betas;
  for (std::int64_t t = 0; t < o.steps; ++t)
    betas.push_back(first +
                    (last - first) * static_cast<double>(t) / static_cast<double>(o.steps - 1));
  return betas;
}

std::vector<double> squared_cosine_betas(std::int64_t steps) {
  const auto alpha_bar = [&](std::int64_t t) {
    const double share = static_cast<double>(t) / static_cast<double>(steps);
    const double cosine = std::cos((share + 0.008) / 1.008 * std::numbers::pi / 2);
    return cosine * cosine;
  };
  std::vector<double> betas;
  for (std::int64_t t = 0; t < steps; ++t)
    betas.push_back(std::min(1 - alpha_bar(t + 1) / alpha_bar(t), 0.999));
  return betas;
}

[[noreturn]] void refuse_spacing(const std::string& spacing, std::int64_t steps) {
  throw ConfigError(
      fmt::format("respacing: \"{}\" of a chain of {} steps; expected a number of at most so many, "
                  "numbers of its equal parts with commas between them, or \"ddim\" and a number "
                  "of steps at one distance",
                  spacing, steps));
}

// At least 1.
std::int64_t count_in(std::string_view text, const std::string& spacing, std::int64_t steps) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1)
    refuse_spacing(spacing, steps);
  return count;
}

std::vector<std::int64_t> every(std::int64_t steps, std::int64_t count,
                                const std::string& spacing) {
  for (std::int64_t stride = 1; stride <= steps; ++stride) {
    if ((steps + stride - 1) / stride != count) continue;
    std::vector<std::int64_t> kept;
    for (std::int64_t t = 0; t < steps; t += stride) kept.push_back(t);
    return kept;
  }
  refuse_spacing(spacing, steps);
}

}  // namespace

std::vector<double> noise_betas(const BetaOptions& options) {
  FOVEA_CHECK(options.steps >= 2, ConfigError,
              fmt::format("diffusion: {} steps; expected at least 2", options.steps));
  std::vector<double> betas = options.schedule == BetaSchedule::kLinear
                                  ? linear_betas(options)
                                  : squared_cosine_betas(options.steps);
  for (const double beta : betas)
    FOVEA_CHECK(
        beta > 0 && beta < 1, ConfigError,
        fmt::format("diffusion: beta {} in a chain of {} steps; expected numbers in (0, 1), "
                    "without beta_end more than 20 steps",
                    beta, options.steps));
  return betas;
}

std::vector<std::int64_t> respaced_steps(std::int64_t steps, const std::string& spacing) {
  if (spacing.starts_with("ddim"))
    return every(steps, count_in(std::string_view(spacing).substr(4), spacing, steps), spacing);
  std::vector<std::int64_t> counts;
  std::string_view rest = spacing;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    counts.push_back(count_in(rest.substr(0, comma), spacing, steps));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (counts.empty()) counts.push_back(steps);
  std::vector<std::int64_t> kept;
  std::int64_t start = 0;
  const auto parts = std::ssize(counts);
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t size = steps / parts + (part < steps % parts ? 1 : 0);
    const std::int64_t count = counts[static_cast<std::size_t>(part)];
    if (count > size) refuse_spacing(spacing, steps);
    const double stride =
        count > 1 ? static_cast<double>(size - 1) / static_cast<double>(count - 1) : 1;
    double at = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      // Halves go to the even neighbour, as in Python.
      kept.push_back(start + static_cast<std::int64_t>(std::nearbyint(at)));
      at += stride;
    }
    start += size;
  }
  return kept;
}

DiffusionChain diffusion_chain(const std::vector<double>& betas) {
  FOVEA_CHECK(!betas.empty(), ConfigError, "diffusion: a chain of no steps; expected at least 1");
  DiffusionChain chain;
  chain.betas = betas;
  double product = 1;
  for (std::int64_t t = 0; t < std::ssize(betas); ++t) {
    const double beta = betas[static_cast<std::size_t>(t)];
    const double before = product;
    product *= 1 - beta;
    chain.alphas_cumprod_prev.push_back(before);
    chain.alphas_cumprod.push_back(product);
    chain.posterior_variance.push_back(beta * (1 - before) / (1 - product));
    chain.posterior_mean_coef1.push_back(beta * std::sqrt(before) / (1 - product));
    chain.posterior_mean_coef2.push_back((1 - before) * std::sqrt(1 - beta) / (1 - product));
    chain.timesteps.push_back(t);
  }
  // The first variance is 0, whose logarithm nobody can use: it takes the second one's.
  for (std::size_t t = 0; t < betas.size(); ++t) {
    const std::size_t own = t == 0 && betas.size() > 1 ? 1 : t;
    chain.posterior_log_variance_clipped.push_back(
        std::log(std::max(chain.posterior_variance[own], 1e-20)));
  }
  return chain;
}

DiffusionChain respaced(const DiffusionChain& chain, const std::vector<std::int64_t>& steps) {
  std::vector<double> betas;
  std::vector<std::int64_t> timesteps;
  double before = 1;
  for (const std::int64_t step : steps) {
    FOVEA_CHECK(step >= 0 && step < chain.steps(), ConfigError,
                fmt::format("respacing: step {} of a chain of {}", step, chain.steps()));
    const double product = chain.alphas_cumprod[static_cast<std::size_t>(step)];
    betas.push_back(1 - product / before);
    timesteps.push_back(chain.timesteps[static_cast<std::size_t>(step)]);
    before = product;
  }
  DiffusionChain result = diffusion_chain(betas);
  result.timesteps = std::move(timesteps);
  return result;
}

}  // namespace fovea::ops
