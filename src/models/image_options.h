// Options of networks for images about their input and output.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "models/model.h"
#include "nn/sizes.h"

namespace fovea::models {

/// null: as the data set.
struct ImageOptions {
  std::optional<std::array<std::int64_t, 2>> img_size;
  std::optional<std::int64_t> in_chans;
  std::optional<std::int64_t> num_classes;
};
/// Adds these keys to the fields of a network's options, which derive from ImageOptions;
/// `num_classes` is the help of that key.
template <class Options>
schema::Fields<Options>& add_image_fields(
    schema::Fields<Options>& fields,
    const char* num_classes = "outputs of the head; null = the data set's") {
  return fields
      .add("img_size", &ImageOptions::img_size, nn::side_length(),
           "height and width, to count without a data set; null = the data set's")
      .add("in_chans", &ImageOptions::in_chans, nn::channel_count(),
           "channels of the images; null = the data set's")
      .add("num_classes", &ImageOptions::num_classes, nn::class_count(), num_classes);
}

/// The options with what is null filled in.
struct ImageShape {
  std::int64_t height = 0, width = 0;  // 0: unknown
  std::int64_t channels = 0;
  std::int64_t classes = 0;
};
/// Throws ConfigError for a size that is not the data set's, and where the classes are not known.
ImageShape image_shape(const ImageOptions& options, const DataShape& data);

}  // namespace fovea::models
