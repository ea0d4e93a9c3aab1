// What networks of diffusion have in common: they say what noise is in an image.
#pragma once

#include "models/model.h"
#include "ops/diffusion/diffusion.h"

namespace fovea::models {

/// Reads a noisy image (b, c, h, w), the timestep of each item and its label, both (b) int64, and
/// gives one map: the noise, and behind it another c channels that say its variance where that is
/// learned (ops/diffusion). mala 4.7.
class Denoiser : public ModelOf<Interface::kDenoiser> {
 public:
  virtual std::int64_t num_classes() const = 0;
  /// Whether num_classes(), as a label, stands for no class. In training labels become that one at
  /// random.
  virtual bool has_null_class() const = 0;
  virtual bool learns_variance() const = 0;
  /// The chain of steps whose noise it knows.
  virtual ops::DiffusionChain chain() const = 0;
  /// The variance of its steps back: of one that learns none, beta.
  ops::StepVariance variance() const {
    return learns_variance() ? ops::StepVariance::kLearnedRange : ops::StepVariance::kFixedLarge;
  }
  /// Of an item, (c, h, w).
  virtual Shape image() const = 0;
};

}  // namespace fovea::models
