// For builds without libjpeg-turbo.
#include "data/files/pictures/jpeg_file.h"

namespace fovea::data {

std::string libjpeg_version() { return {}; }
std::unique_ptr<JpegFile> open_jpeg(std::span<const std::byte>, std::string_view) { return {}; }

}  // namespace fovea::data
