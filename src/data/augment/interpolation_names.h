// How pictures may be resized, by the names of experiment files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/augment/geometry.h"

namespace fovea::data {

/// Interpolations that Pillow has.
inline std::vector<std::pair<std::string, Resampling>> interpolation_names() {
  return {{"bilinear", Resampling::kBilinear},
          {"bicubic", Resampling::kBicubic},
          {"nearest", Resampling::kNearest}};
}

}  // namespace fovea::data
