// The most that a key of a network may ask for. Far beyond what can be trained: with more, sizes
// overflow, and a network of so many parts fills memory before its weights do.
#pragma once

#include <cstdint>

#include "schema/describe/description.h"

namespace fovea::nn {

inline constexpr std::int64_t kMostBlocks = 1'000;     // of a stage or a head, one on another
inline constexpr std::int64_t kMostChannels = 65'536;  // of a map or a token
inline constexpr std::int64_t kMostSide = 100'000;     // pixels, voxels or tokens along an axis
inline constexpr std::int64_t kMostWindow = 32;        // tokens along a side; each pair has a bias
inline constexpr std::int64_t kMostClasses = 1'000'000;  // classes, or words

inline schema::Range block_count(double least = 1) { return schema::in_range(least, kMostBlocks); }
inline schema::Range channel_count(double least = 1) {
  return schema::in_range(least, kMostChannels);
}
inline schema::Range side_length(double least = 1) { return schema::in_range(least, kMostSide); }
inline schema::Range window_length() { return schema::in_range(1, kMostWindow); }
/// Of a hidden width to that of the tokens or maps.
inline schema::Range width_ratio() { return schema::greater_than(0) && schema::at_most(1'000); }
inline schema::Range class_count(double least = 1) { return schema::in_range(least, kMostClasses); }

}  // namespace fovea::nn
