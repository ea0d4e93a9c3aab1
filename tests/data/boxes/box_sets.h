// Data sets of images with boxes, as what they are.
#pragma once

#include <memory>
#include <vector>

#include "data/boxes/box_dataset.h"
#include "data/registry.h"

namespace fovea::data::test {

inline std::shared_ptr<const BoxDataset> make_boxes(const schema::Component& component,
                                                    Split split) {
  return std::dynamic_pointer_cast<const BoxDataset>(make_dataset(component, split));
}

inline std::vector<std::int64_t> ints(const Tensor& tensor) {
  const auto values = tensor.values<std::int64_t>();
  return {values.begin(), values.end()};
}

}  // namespace fovea::data::test
