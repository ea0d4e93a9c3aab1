// The order in which units are removed, and their removal. explain B.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "explain/questions.h"
#include "explain/units.h"

namespace fovea::explain {

/// Indices by falling relevance; equal values by rising index. Throws NumericError for NaN.
std::vector<std::int64_t> descending(std::span<const double> relevance);
/// Indices by rising relevance, the order of -relevance; equal values by rising index.
std::vector<std::int64_t> ascending(std::span<const double> relevance);

/// Takes units of one image out and puts others in their place.
class Replacement {
 public:
  /// Throws ShapeError unless the units are of an image of this size.
  Replacement(const Units& units, const Image& image);

  /// Copies the pixels of these units from `other` to `image`, all channels.
  void operator()(Image& image, const Image& other, std::span<const std::int64_t> units) const;
  /// 1 for every pixel of these units, else 0: (height, width).
  std::vector<std::uint8_t> mask(std::span<const std::int64_t> units) const;

 private:
  std::vector<std::vector<std::size_t>> pixels_;  // of every unit
  std::size_t size_;                              // pixels of a channel
};

}  // namespace fovea::explain
