// How the maps of whole samples are made for scores, predictions and reports: by one pass of the
// network, or from windows that overlap.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schema/fields.h"
#include "tensor/tensor.h"

namespace fovea::training {

class Inferer {
 public:
  virtual ~Inferer() = default;
  /// What a dense network gives: (b, c, spatial...) on the host -> maps (b, k, ...), on any device.
  using Network = std::function<std::vector<Tensor>(const Tensor& image)>;
  /// All of a network's maps of whole samples, on the device of `image`, which is a host device.
  virtual std::vector<Tensor> operator()(const Tensor& image, const Network& network) const = 0;
  /// Sizes of what the network is given, from those of a sample. Throws ConfigError where the
  /// number of axes does not fit.
  virtual std::vector<std::int64_t> window_of(const std::vector<std::int64_t>& sample) const = 0;
  /// Whether it calls the network once with all there is, so that it serves networks of any kind.
  virtual bool is_whole() const { return false; }
  /// Whether it takes the maps for classes, of which every pixel has one (a softmax over them).
  virtual bool needs_classes() const { return false; }
};

/// Known types: whole, sliding_window, nnunet_windows.
schema::Choices inferer_choices();
/// Throws ConfigError.
std::unique_ptr<const Inferer> make_inferer(const schema::Component& component);

/// Weights of a window's pixels where windows overlap.
enum class WindowMode { kConstant, kGaussian };
/// Names and meaning are those of MONAI's SlidingWindowInferer.
struct SlidingWindowOptions {
  std::vector<std::int64_t>
      roi_size;                    // of a window, one number an axis or one for all; 0: the axis
  std::int64_t sw_batch_size = 1;  // windows in a pass of the network
  double overlap = 0.25;           // share of a window that the next one covers too
  WindowMode mode = WindowMode::kConstant;
  double sigma_scale = 0.125;  // of the Gaussian: sigma / size
  /// Mean over all mirrorings of these (mirrored.h). MONAI has none.
  std::vector<std::int64_t> mirror_axes = {};
};

/// The weights of a window's pixels, row-major: 1 each, or the product over the axes of
/// exp(-x^2 / (2 sigma^2)), x the distance from the centre, sigma = sigma_scale size, but at least
/// the smallest of them or 0.001.
std::vector<float> window_weights(const std::vector<std::int64_t>& size, WindowMode mode,
                                  double sigma_scale);
/// Where windows begin along an axis: every floor(size (1 - overlap)) pixels, the last one moved
/// back to where it ends with the axis. `size` is at most the axis.
std::vector<std::int64_t> window_starts(std::int64_t axis, std::int64_t size, double overlap);

/// The weighted mean of the maps of all windows, of any number of spatial axes; a sample smaller
/// than a window is padded with zeros on both sides. A network's smaller maps (deep supervision)
/// are brought to the size of the window (linear, between the centres of pixels), so that all maps
/// are as large as the sample. Throws ConfigError where roi_size does not fit the axes.
std::unique_ptr<const Inferer> make_sliding_window(const SlidingWindowOptions& options);

}  // namespace fovea::training
