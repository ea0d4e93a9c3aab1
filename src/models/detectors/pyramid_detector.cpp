#include "models/detectors/pyramid_detector.h"

#include "models/counting.h"
#include "ops/elementwise.h"

namespace fovea::models {

PyramidDetector::PyramidDetector(const nn::Build& build, const DetectorOptions& o,
                                 const DataShape& data, const NeckLevels& levels)
    : activations_(build.activation_dtype()),
      shape_(image_shape(o, data)),
      backbone_(add_backbone("backbone", build, o.backbone, shape_.channels)) {
  const std::vector<PyramidLevel>& found = backbone_.levels();
  std::vector<std::int64_t> channels;
  for (const PyramidLevel& level : found) channels.push_back(level.channels);
  const std::int64_t outputs = std::ssize(found) - levels.start + levels.extra;
  neck_ = &child<Fpn>("neck", build,
                      FpnOptions{.in_channels = std::move(channels),
                                 .out_channels = o.fpn_channels,
                                 .num_outs = outputs,
                                 .start_level = levels.start,
                                 .extra_convs = levels.extra_convs});
  for (auto s = static_cast<std::size_t>(levels.start); s < found.size(); ++s)
    strides_.push_back(found[s].stride);
  while (std::ssize(strides_) < outputs) strides_.push_back(2 * strides_.back());
  backbone_.freeze_stages(o.frozen_stages);
  if (o.norm_eval) backbone_.freeze_statistics();
}

std::vector<Tensor> PyramidDetector::pyramid(const Tensor& image, attention::Probe* probe) {
  return (*neck_)(backbone_(ops::cast(image, activations_), probe));
}

std::optional<std::int64_t> PyramidDetector::paper_macs(
    const std::vector<autograd::Event>& events) const {
  return module_macs(events, *this);
}

}  // namespace fovea::models
