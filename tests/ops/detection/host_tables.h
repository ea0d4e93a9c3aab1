// Boxes for tests: they are the host's, whatever device the tests run on.
#pragma once

#include <vector>

#include "tests/support/tensors.h"

namespace fovea::test {

/// (n, columns) float32.
inline Tensor host_table(const std::vector<float>& values, std::int64_t columns) {
  return Tensor::from(values, {std::ssize(values) / columns, columns}, make_cpu(1));
}
inline Tensor boxes(const std::vector<float>& values) { return host_table(values, 4); }
/// With the number of the item first.
inline Tensor rois(const std::vector<float>& values) { return host_table(values, 5); }

}  // namespace fovea::test
