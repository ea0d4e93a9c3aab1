// Work above the kernels on the threads of the host's device.
#pragma once

#include <cstdint>
#include <functional>

#include "tensor/device.h"

namespace fovea {

/// Calls piece(i) for every i in [0, pieces): of a host device on its threads at the same time,
/// where the operations of a piece run in its thread alone; of any other device one after another.
/// A piece sets the modes that it needs, such as autograd::NoGrad. What it computes must depend on
/// its number alone. Rethrows the first exception of a piece.
void in_parallel(const Device& device, std::int64_t pieces,
                 const std::function<void(std::int64_t)>& piece);

}  // namespace fovea
