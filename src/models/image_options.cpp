#include "models/image_options.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::models {

ImageShape image_shape(const ImageOptions& options, const DataShape& data) {
  const auto [height, width] =
      options.img_size.value_or(std::array<std::int64_t, 2>{data.height, data.width});
  const ImageShape shape{height, width, options.in_chans.value_or(data.channels),
                         options.num_classes.value_or(data.num_classes)};
  FOVEA_CHECK(data.depth == 0, ConfigError,
              "model: reads images, but the data set has volumes; choose a network for volumes");
  FOVEA_CHECK(shape.classes > 0, ConfigError,
              "model.num_classes: not given, and the data set has no classes");
  FOVEA_CHECK(data.height == 0 || (height == data.height && width == data.width), ConfigError,
              fmt::format("model.img_size: {} x {}, but the images of the data set are {} x {}",
                          height, width, data.height, data.width));
  return shape;
}

}  // namespace fovea::models
