// How images are made by a network that knows what noise is in them: step by step from noise alone.
// mala 4.7.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/diffusion/denoiser.h"
#include "ops/diffusion/diffusion.h"
#include "schema/fields.h"
#include "tensor/random.h"

namespace fovea::training {

enum class SamplerKind { kDdpm, kDdim };

struct SamplerOptions {
  SamplerKind kind = SamplerKind::kDdpm;
  std::string steps = "250";   // ops::respaced_steps
  double guidance = 1;         // ops::guided; 1: none
  bool guide_all = true;       // all channels of the noise, or the first three
  bool clip_denoised = false;  // StepBackOptions
  double eta = 0;              // of ddim

  bool operator==(const SamplerOptions&) const = default;
};

/// Known types: ddpm, ddim.
schema::Choices sampler_choices();
/// Throws ConfigError.
SamplerOptions sampler_options(const schema::Component& component);

/// After each step back: the images as they are now and what the network takes them for, (n, c, h,
/// w) in its own range, the first of which is number `first` of all.
struct Denoised {
  std::int64_t step = 0, steps = 0;  // from 1
  std::int64_t first = 0;
  Tensor x, x_start;
};

struct ImageRequest {
  std::vector<std::int64_t> labels;  // one an image; -1: no class
  SamplerOptions sampler;
  RandomStream random;           // image i draws from its fork(i), whatever is made beside it
  std::int64_t batch_size = 64;  // images that go through the network together
  std::function<void(const Denoised&)> watch = {};
  std::function<bool()> stop = {};  // asked before each step; ends with Interrupted
};

/// (n, c, h, w) in the network's range, on its device, without gradients. The network is in
/// evaluation mode. Throws ConfigError for labels that the network does not know, for guidance of
/// one without a null class and for a spacing that its chain does not have.
Tensor sample_images(models::Denoiser& network, const ImageRequest& request, const Device& device);

/// Of images in [-1, 1], which may be a little outside: in [0, 1], on the host, for people.
Tensor shown_images(const Tensor& images);

}  // namespace fovea::training
