#include "models/volumes/volume_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "models/counting.h"
#include "ops/elementwise.h"

namespace fovea::models {

VolumeNetwork::VolumeNetwork(const nn::Build& build, const VolumeOptions& options,
                             const DataShape& data)
    : activations_(build.activation_dtype()),
      size_(options.img_size),
      channels_(options.in_chans.value_or(data.channels)),
      classes_(options.num_classes.value_or(data.num_classes)) {
  FOVEA_CHECK(data.height == 0 || data.depth > 0, ConfigError,
              "model: reads volumes, but the images of the data set are flat; choose a network for "
              "images");
  FOVEA_CHECK(classes_ > 0, ConfigError,
              "model.num_classes: not given, and the data set has no classes");
  if (data.depth == 0) return;
  const Size3 of_data{data.depth, data.height, data.width};
  FOVEA_CHECK(!size_ || *size_ == of_data, ConfigError,
              fmt::format("model.img_size: {}, but the volumes of the data set are {}",
                          fmt::join(*size_, " x "), fmt::join(of_data, " x ")));
  size_ = of_data;
}

const Size3& VolumeNetwork::known_size(const std::string& what) const {
  FOVEA_CHECK(size_.has_value(), ConfigError,
              fmt::format("model.img_size: not given, and {} needs it", what));
  return *size_;
}

std::optional<std::int64_t> VolumeNetwork::paper_macs(
    const std::vector<autograd::Event>& events) const {
  return layer_macs(events);
}

Outputs VolumeNetwork::forward(const Inputs& in, attention::Probe* probe) {
  FOVEA_CHECK(in.image.rank() == 5 && in.image.size(1) == channels_, ShapeError,
              fmt::format("{}: volumes are {}; expected (b, {}, d, h, w)", type(),
                          to_string(in.image.shape()), channels_));
  return {.maps = maps(ops::cast(in.image, activations_), probe)};
}

}  // namespace fovea::models
