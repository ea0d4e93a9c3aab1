// What tests count in pictures.
#pragma once

#include <cstdint>

#include "visualise/drawing/canvas.h"

namespace fovea::test {

/// How many pixels of the canvas have exactly this colour.
inline std::int64_t pixels_of(const visualise::Canvas& canvas, visualise::Colour colour) {
  std::int64_t count = 0;
  for (std::int64_t y = 0; y < canvas.height; ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x) count += canvas.at(x, y) == colour ? 1 : 0;
  }
  return count;
}

}  // namespace fovea::test
