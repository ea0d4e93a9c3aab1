// The values of a channel as a whole.
#pragma once

#include <span>

namespace fovea::data {

struct ValueRange {
  float low, high;
  double mean, std;
};
/// At least one value.
ValueRange value_range(std::span<const float> values);

}  // namespace fovea::data
