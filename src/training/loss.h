// The "loss" section of an experiment file.
#pragma once

#include <functional>

#include "schema/description.h"
#include "tensor/tensor.h"

namespace fovea::training {

/// Mean loss of a batch, (), from what a network puts out and what it should have put out.
using Loss = std::function<Tensor(const Tensor& output, const Tensor& target)>;

/// All losses, of whatever kind.
schema::Choices loss_choices();
/// output: logits (..., classes), target: (...) int64. Throws ConfigError for an unknown type, one
/// that compares something else, or options that do not fit.
Loss make_class_loss(const schema::Component& component);
/// output: probabilities (b, ...), target: masks of that shape in [0, 1]. Throws likewise.
Loss make_mask_loss(const schema::Component& component);

}  // namespace fovea::training
