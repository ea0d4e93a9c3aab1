#include "data/source.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::data {

Image Source::read_file(const std::filesystem::path& file) const {
  FOVEA_CHECK(info_.channels == 1 || info_.channels == 3, ConfigError,
              fmt::format("{}: samples of this data set have {} channels; a picture has 1 or 3",
                          file.string(), info_.channels));
  return read_image(file, info_.channels, info_.exif);
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
