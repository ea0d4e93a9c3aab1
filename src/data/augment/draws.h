// What transforms draw from the stream of a sample.
#pragma once

#include <cstdint>

#include "tensor/random.h"

namespace fovea::data {

/// Whether something of probability `prob` happens: draw 0.
inline bool happens(const RandomStream& draws, double prob) {
  return double{draws.uniform(0)} < prob;
}
/// Draw i, uniform between two numbers.
inline double draw_between(const RandomStream& draws, std::uint64_t i, double low, double high) {
  return low + (high - low) * double{draws.uniform(i)};
}
/// In [low, 1] or in [1, high], each with probability 1/2: draws i and i + 1.
inline double draw_around_one(const RandomStream& draws, std::uint64_t i, double low, double high) {
  return double{draws.uniform(i)} < 0.5 ? draw_between(draws, i + 1, low, 1)
                                        : draw_between(draws, i + 1, 1, high);
}

}  // namespace fovea::data
