// Tensors and batches in messages between ranks (parallel/bytes.h).
#pragma once

#include <string>
#include <utility>

#include "data/batch.h"
#include "models/network.h"
#include "parallel/bytes.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace fovea::training {

/// An undefined tensor is read as one.
void put_tensor(parallel::Writer& to, const Tensor& x);
Tensor get_tensor(parallel::Reader& from, const Device& device);

/// What an evaluation compares: what a network said of a batch, and the batch, without the tensor
/// `left_out`, which the network alone reads.
std::string evaluated_bytes(const data::Batch& batch, const models::Outputs& outputs,
                            const std::string& left_out);
/// Tensors that were on the host there are on `host`, the others on `device`.
std::pair<data::Batch, models::Outputs> evaluated_from(const std::string& bytes, const Device& host,
                                                       const Device& device);

}  // namespace fovea::training
