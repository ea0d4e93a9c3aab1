// Pictures one after the other, as an animated PNG, which browsers and viewers play and others show
// as its first picture.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

struct Film {
  std::vector<Canvas> frames;  // of one size
  int frame_ms = 80;           // that a frame is shown for
  int last_ms = 2000;          // the last one, before it begins again
};

/// The bytes of an animated PNG file. Throws ShapeError for no frames or frames of several sizes,
/// ConfigError for times outside [1, 65535] ms.
std::string to_apng(const Film& film);
/// Writes it in one rename. Throws FileError.
void write_apng(const std::filesystem::path& path, const Film& film);

}  // namespace fovea::visualise
