// A data set of images with masks: bright squares on a pattern, with lists of the parts.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/file.h"
#include "data/files/pictures/image_file.h"

namespace fovea::experiment::test {

/// Into set/ of the working folder: 6 samples for train, 2 for test, 16 x 16.
inline void write_squares() {
  for (const char* part : {"images", "masks", "splits"})
    io::make_directories(io::fs::path("set") / part);
  std::string train, test;
  for (int n = 0; n < 8; ++n) {
    data::Image image{16, 16, 3, {}};
    data::Image mask{16, 16, 1, {}};
    for (int i = 0; i < 256; ++i) {
      const bool inside = std::abs(i / 16 - 4 - n) < 3 && std::abs(i % 16 - 10) < 4;
      const auto ground = static_cast<std::uint8_t>(30 + (i * 37 + n * 11) % 50);
      mask.pixels.push_back(inside ? 255 : 0);
      image.pixels.insert(image.pixels.end(),
                          {inside ? std::uint8_t{210} : ground, ground, std::uint8_t{90}});
    }
    const std::string name = fmt::format("square{}", n);
    data::write_png(io::fs::path("set/images") / (name + ".png"), image);
    data::write_png(io::fs::path("set/masks") / (name + ".png"), mask);
    (n < 6 ? train : test) += name + "\n";
  }
  io::write_atomic("set/splits/train.txt", train);
  io::write_atomic("set/splits/test.txt", test);
}

}  // namespace fovea::experiment::test
