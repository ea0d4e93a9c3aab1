// Networks for dense prediction in volumes: (b, c, d, h, w) to maps of logits. Axes are always
// depth, height, width. dformer 2.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "nn/sizes.h"
#include "ops/conv/convolution.h"

namespace fovea::models {

/// Depth, height, width: of a volume, a grid of tokens, a patch, ...
using Size3 = std::array<std::int64_t, 3>;
inline ops::Sizes sizes_of(const Size3& size) { return {size.begin(), size.end()}; }

/// null: as the data set.
struct VolumeOptions {
  std::optional<Size3> img_size;
  std::optional<std::int64_t> in_chans;
  std::optional<std::int64_t> num_classes;
};
/// Adds these keys to the fields of a network's options, which derive from VolumeOptions.
template <class Options>
schema::Fields<Options>& add_volume_fields(schema::Fields<Options>& fields) {
  return fields
      .add("img_size", &VolumeOptions::img_size, nn::side_length(),
           "depth, height and width of the crops that the network is trained on; null = the data "
           "set's")
      .add("in_chans", &VolumeOptions::in_chans, nn::channel_count(),
           "channels of the volumes; null = the data set's")
      .add("num_classes", &VolumeOptions::num_classes, nn::class_count(),
           "maps that the network puts out, the background too; null = classes of the data set");
}

/// A network from volumes (b, c, d, h, w) to logits (b, num_classes, d, h, w), and under deep
/// supervision to coarser maps behind these. Its multiply-adds are also counted as the dformer
/// paper does (5).
class VolumeNetwork : public ModelOf<Interface::kDenseNetwork> {
 public:
  static constexpr int kAxes = 3;
  std::int64_t num_maps() const override { return classes_; }
  std::optional<std::int64_t> paper_macs(const std::vector<autograd::Event>&) const override;

 protected:
  /// Resolves options that are null. Throws ConfigError where that is impossible.
  VolumeNetwork(const nn::Build& build, const VolumeOptions& options, const DataShape& data);
  std::int64_t in_chans() const { return channels_; }
  std::int64_t num_classes() const { return classes_; }
  /// The size of the volumes; nothing where neither the options nor the data set give it.
  const std::optional<Size3>& size() const { return size_; }
  /// The same for networks that need it. Throws ConfigError naming `what` needs it.
  const Size3& known_size(const std::string& what) const;
  /// (b, in_chans, d, h, w) in the type of the activations -> logits, the finest first.
  virtual std::vector<Tensor> maps(const Tensor& volumes, attention::Probe* probe) = 0;

 private:
  Outputs forward(const Inputs& in, attention::Probe* probe) final;

  DType activations_;
  std::optional<Size3> size_;
  std::int64_t channels_, classes_;
};

}  // namespace fovea::models
