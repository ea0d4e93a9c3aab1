// Drawn landscapes with one object that one recognises.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "data/files/pictures/image_file.h"
#include "tensor/random.h"

namespace fovea::data {

inline constexpr std::array<std::string_view, 6> kSceneObjects = {"house", "balloon", "boat",
                                                                  "car",   "rocket",  "windmill"};

/// A picture of size x size pixels in three channels: sky, hills, clouds and bushes, and one of
/// kSceneObjects by its number. A function of its arguments.
Image drawn_scene(const RandomStream& random, std::size_t object, std::int64_t size);

}  // namespace fovea::data
