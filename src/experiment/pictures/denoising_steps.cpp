#include "experiment/pictures/denoising_steps.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/diffusion/denoiser.h"
#include "ops/diffusion/diffusion.h"
#include "ops/elementwise.h"
#include "training/inference/sampler.h"

namespace fovea::experiment {

std::vector<visualise::DenoisingStep> denoising_steps(Run& run, std::int64_t label,
                                                      std::int64_t count, std::uint64_t seed) {
  const auto* network = dynamic_cast<const models::Denoiser*>(&run.model());
  FOVEA_CHECK(network != nullptr, ConfigError,
              fmt::format("{}: its network makes no images", run.experiment().name));
  const training::SamplerOptions sampler = training::sampler_options(run.experiment().eval.sampler);
  const ops::DiffusionChain whole = network->chain();
  const std::vector<std::int64_t> timesteps =
      ops::respaced(whole, ops::respaced_steps(whole.steps(), sampler.steps)).timesteps;
  const auto steps = std::ssize(timesteps);
  FOVEA_CHECK(count >= 1 && count < steps, ConfigError,
              fmt::format("--steps {}: the run's sampler makes {} steps; expected 1 to {}", count,
                          steps, steps - 1));
  std::vector<visualise::DenoisingStep> shown;
  const Device& host = run.task().source().options().host;
  Tensor before;
  const auto next_shown = [&] {
    const auto k = std::ssize(shown);
    return count == 1 ? steps : 2 + (k * (steps - 2) + (count - 1) / 2) / (count - 1);
  };
  training::ImageRequest request{
      .labels = {label}, .sampler = sampler, .random = RandomStream(seed).fork("generate")};
  request.watch = [&](const training::Denoised& now) {
    if (std::ssize(shown) < count && now.step == next_shown()) {
      shown.push_back({now.step, now.steps, timesteps[static_cast<std::size_t>(steps - now.step)],
                       ops::to(before, host), ops::to(now.x_start, host)});
    }
    before = now.x;
  };
  run.task().generate_images(request);
  return shown;
}

}  // namespace fovea::experiment
