// Labels as losses take them.
#pragma once

#include "tensor/tensor.h"

namespace fovea::ops {

/// Throws ShapeError for a label outside [0, classes) other than ignore_index, where the host can
/// see them.
void check_labels(const char* op, const Tensor& target, std::int64_t classes,
                  std::int64_t ignore_index);

/// Throws ShapeError unless logits are (b, classes, ...) and targets int64 (b, ...), the class of
/// every pixel.
void check_label_map(const char* op, const Tensor& logits, const Tensor& target);
/// (b, k, spatial...) -> (b, spatial..., k). Throws as check_label_map().
Tensor classes_last(const char* op, const Tensor& logits, const Tensor& target);

}  // namespace fovea::ops
