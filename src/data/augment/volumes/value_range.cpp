#include "data/augment/volumes/value_range.h"

#include <algorithm>
#include <cmath>

namespace fovea::data {

ValueRange value_range(std::span<const float> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  double sum = 0, squares = 0;
  for (const float value : values) sum += double{value};
  const double n = static_cast<double>(values.size()), mean = sum / n;
  for (const float value : values) squares += (double{value} - mean) * (double{value} - mean);
  return {*low, *high, mean, std::sqrt(squares / n)};
}

}  // namespace fovea::data
