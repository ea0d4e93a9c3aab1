#include "data/source.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/images/channel_pictures.h"

namespace fovea::data {

Image read_picture(const std::filesystem::path& file, const SourceInfo& info) {
  return info.channel_names.empty() ? read_image(file, info.channels, info.exif)
                                    : read_channels(file, info.channel_names, info.exif);
}

Image Source::read_file(const std::filesystem::path& file) const {
  FOVEA_CHECK(!info_.channel_names.empty() || info_.channels == 1 || info_.channels == 3,
              ConfigError,
              fmt::format("{}: samples of this data set have {} channels; a picture has 1 or 3",
                          file.string(), info_.channels));
  return read_picture(file, info_);
}

Image Source::fitted(const Image& picture) const {
  return fit(picture, info_.height, info_.width, info_.fit);
}

Image Source::fitted_mask(const Image& mask) const {
  FitOptions how = info_.fit;
  how.resize.how = Resampling::kNearestCorner;
  return fit(mask, info_.height, info_.width, how);
}

Image Source::read_mask(std::int64_t, const Image&) const {
  throw ConfigError("dataset: has no masks");
}

}  // namespace fovea::data
