// The "loss" section of an experiment file.
#pragma once

#include <functional>

#include "schema/description.h"
#include "tensor/tensor.h"

namespace fovea::training {

/// Mean loss of a batch of classifications. logits: (..., classes), labels: (...) int64 -> ().
using ClassLoss = std::function<Tensor(const Tensor& logits, const Tensor& labels)>;

schema::Choices class_loss_choices();
/// Throws ConfigError for an unknown type or options that do not fit.
ClassLoss make_class_loss(const schema::Component& component);

}  // namespace fovea::training
