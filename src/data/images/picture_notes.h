// Notes on picture files whose headers say something that the user should know.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/files/pictures/image_file.h"

namespace fovea::data {

/// How a data set reads its pictures.
struct PictureReading {
  const char* reader = "";
  Exif exif = Exif::kIgnore;
  bool stretched = false;  // by their own extremes, whatever their range
  /// What a user can do about values that fill only a part of their 16 bits.
  const char* range_remedy = "";
};

/// Adds to `notes` how many pictures an EXIF orientation turns while dataset.exif is false, and
/// that 16-bit pictures hold values of 12 bits or less. Of many files 4096 spread over the list are
/// looked at; files that cannot be read are passed over.
void note_pictures(std::span<const std::filesystem::path> files, const PictureReading& how,
                   std::vector<std::string>& notes);

/// The role of EXIF where the size (h, w) of a picture is not the expected one, for the end of a
/// message: "; its EXIF orientation is 6: dataset.exif=true turns it to 30 x 40". Else "".
std::string exif_hint(const std::filesystem::path& file, Exif how, const Image& picture,
                      std::int64_t height, std::int64_t width);

}  // namespace fovea::data
