// Windows over large volumes as nnU-Net takes them. dformer 7.7.
#pragma once

#include "training/inference/inferer.h"

namespace fovea::training {

/// Of what windows and mirrorings the mean is.
enum class WindowMean {
  kLogits,         // nnU-Net version 2
  kProbabilities,  // version 1, on which D-Former's code stands
};

struct NnUnetWindowsOptions {
  std::vector<std::int64_t> roi_size;     // of a window, one number an axis or one for all
  double step = 0.5;                      // most that the next window begins later, in windows
  bool gaussian = true;                   // weights where windows overlap
  std::vector<std::int64_t> mirror_axes;  // 0 = depth: mean over all mirrorings of these axes
  WindowMean mean = WindowMean::kLogits;
};

/// Where windows begin along an axis that is at least as long: evenly from its start to where the
/// last one ends with it, at most step x size apart, halves to even.
std::vector<std::int64_t> nnunet_starts(std::int64_t axis, std::int64_t size, double step);
/// Weights of a window's places, row-major: the product over the axes of exp(-x^2 / (2 sigma^2)), x
/// the distance from place size / 2 and sigma = size / 8, 0 beyond 4 sigma and there the smallest
/// of the others.
std::vector<float> nnunet_weights(const std::vector<std::int64_t>& size);

/// The weighted means of all windows' logits; or the logarithms of those of their probabilities of
/// classes (softmax), so that a softmax of them is these means. Of a network's maps the finest one
/// alone. A sample smaller
/// than a window is padded with zeros on both sides. Throws ConfigError where options do not fit
/// the axes.
std::unique_ptr<const Inferer> make_nnunet_windows(const NnUnetWindowsOptions& options);
const schema::Fields<NnUnetWindowsOptions>& nnunet_windows_fields();

}  // namespace fovea::training
