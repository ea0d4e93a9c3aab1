// What detectors share: a backbone of the registry, and a neck.
#pragma once

#include <optional>
#include <vector>

#include "models/detectors/detector.h"
#include "models/heads/fpn.h"
#include "nn/sizes.h"

namespace fovea::models {

struct DetectorOptions : ImageOptions {
  schema::Component backbone{"resnet50", {}};
  std::int64_t frozen_stages = -1;
  bool norm_eval = false;
  std::int64_t fpn_channels = 256;
};

/// Adds these keys to the fields of a detector's options, which derive from DetectorOptions.
template <class Options>
schema::Fields<Options>& add_detector_fields(schema::Fields<Options>& fields) {
  using O = DetectorOptions;
  fields
      .add_component("backbone", &O::backbone, backbones().choices(),
                     "the network whose levels the neck reads")
      .add("frozen_stages", &O::frozen_stages, schema::at_least(-1),
           "the backbone's stem and its stages up to this one stay as they are: 0 = the stem "
           "alone, -1 = nothing is frozen")
      .add("norm_eval", &O::norm_eval,
           "batch norms of the backbone keep their running statistics in training")
      .add("fpn_channels", &O::fpn_channels, nn::channel_count(), "channels of the neck's levels");
  return add_image_fields(fields, "classes of objects; null = the data set's");
}

/// Which levels a detector's neck gives: the backbone's from `start` on, and further ones.
struct NeckLevels {
  std::int64_t start = 0;
  std::int64_t extra = 1;
  ExtraConvs extra_convs = ExtraConvs::kNone;
};

/// A detector with a backbone and a feature pyramid network. Names: backbone, neck.
/// Its multiply-adds are also counted as the mala paper does (5.3).
class PyramidDetector : public Detector {
 public:
  std::optional<std::int64_t> paper_macs(const std::vector<autograd::Event>&) const override;

 protected:
  /// Throws ConfigError where the backbone has no such level, or no stage that is to be frozen.
  PyramidDetector(const nn::Build& build, const DetectorOptions& options, const DataShape& data,
                  const NeckLevels& levels);

  /// Levels of the neck for images (b, c, h, w) of any floating type.
  std::vector<Tensor> pyramid(const Tensor& image, attention::Probe* probe);
  /// Of the neck's levels.
  const std::vector<std::int64_t>& strides() const { return strides_; }
  std::int64_t num_classes() const { return shape_.classes; }

 private:
  DType activations_;
  ImageShape shape_;
  Backbone& backbone_;
  Fpn* neck_ = nullptr;
  std::vector<std::int64_t> strides_;
};

}  // namespace fovea::models
