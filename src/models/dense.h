// Networks for dense prediction: an image to maps of logits.
#pragma once

#include <string>
#include <vector>

#include "models/image_options.h"
#include "nn/convolution.h"

namespace fovea::models {

/// Adds the keys of ImageOptions to the fields of a dense network.
template <class Options>
schema::Fields<Options>& add_dense_fields(schema::Fields<Options>& fields) {
  return add_image_fields(fields, "maps that the network puts out; null = classes of the data set");
}

/// A network from images (b, c, h, w) to logits (b, num_classes, h, w), and under deep supervision
/// to coarser maps behind these. Its multiply-adds are also counted as the kcla paper does (3.6).
class DenseNetwork : public ModelOf<Interface::kDenseNetwork> {
 public:
  std::int64_t num_maps() const override { return shape_.classes; }
  std::optional<std::int64_t> paper_macs(const std::vector<autograd::Event>&) const override;

 protected:
  /// Resolves options that are null. Throws ConfigError where that is impossible.
  DenseNetwork(const nn::Build& build, const ImageOptions& options, const DataShape& data);
  std::int64_t in_chans() const { return shape_.channels; }
  std::int64_t num_classes() const { return shape_.classes; }
  /// Throws ConfigError if the image is known and smaller than `reduction`, by which the network
  /// divides its sides.
  void check_size(std::int64_t reduction) const;
  /// A last convolution, 1x1, called `name`.
  nn::Conv2d& add_head(const std::string& name, const nn::Build& build, std::int64_t in);
  /// (b, in_chans, h, w) in the type of the activations -> logits, the finest first.
  virtual std::vector<Tensor> maps(const Tensor& images, attention::Probe* probe) = 0;

 private:
  Outputs forward(const Inputs& in, attention::Probe* probe) final;

  DType activations_;
  ImageShape shape_;
};

}  // namespace fovea::models
