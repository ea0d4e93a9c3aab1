// Pictures of several channels: a grey file for each, NAME_0000.png, NAME_0001.png, ..., as nnU-Net
// names them, or a TIFF with a page for each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/files/pictures/image_file.h"

namespace fovea::data {

/// The files of the picture that `file` is one of, by channel: of NAME_0001.png NAME_0000.png and
/// so on, as many as `channels`; of a name without such an ending `file` alone.
std::vector<std::filesystem::path> channel_files(const std::filesystem::path& file,
                                                 std::size_t channels);

/// The picture that `file` is one of, with a channel for each name, of 16 bits where a channel has
/// as many. JPEG files are turned by `exif`. Throws FileError for a channel that is not there,
/// channels of different sizes, and one file that is no TIFF of as many pages.
Image read_channels(const std::filesystem::path& file, const std::vector<std::string>& names,
                    Exif exif);

}  // namespace fovea::data
