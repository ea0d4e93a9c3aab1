#include "ops/detection/top_k.h"

#include <algorithm>
#include <cmath>

namespace fovea::ops {

std::vector<std::int64_t> top_k(std::span<const float> scores, std::int64_t k) {
  std::vector<std::int64_t> order;
  order.reserve(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isnan(scores[i])) order.push_back(static_cast<std::int64_t>(i));
  }
  const auto better = [&](std::int64_t a, std::int64_t b) {
    const float left = scores[static_cast<std::size_t>(a)];
    const float right = scores[static_cast<std::size_t>(b)];
    return left > right || (left == right && a < b);
  };
  if (k < std::ssize(order)) {  // to sort them all would take most of the time
    std::nth_element(order.begin(), order.begin() + k, order.end(), better);
    order.resize(static_cast<std::size_t>(k));
  }
  std::sort(order.begin(), order.end(), better);
  return order;
}

}  // namespace fovea::ops
