// Walks over tensors for the kernels (Walk of kernels/structs.h).
#pragma once

#include "backend/args.h"
#include "backend/broadcast.h"
#include "backend/gpu/kernels/structs.h"

namespace fovea::gpu {

/// Over an output and operands that are broadcast to it.
template <std::size_t kOperands>
Walk walk_over(const Shape& output, const std::array<Shape, kOperands>& operands) {
  const Broadcast<kOperands> joined(output, operands);
  Walk walk{};
  walk.count = output.numel();
  walk.axes = static_cast<Index>(joined.sizes.size());
  for (std::size_t axis = 0; axis < joined.sizes.size(); ++axis) {
    walk.sizes[axis] = joined.sizes[axis];
    for (std::size_t i = 0; i < kOperands; ++i) walk.steps[i][axis] = joined.steps[i][axis];
  }
  return walk;
}

/// Operand 0 is the source, operand 1 the destination; axes along which the destination repeats
/// come last. Throws ShapeError for more than MAX_AXES axes that cannot be joined.
Walk walk_over(const CopyArgs& args);
/// Elements of the axes along which the destination repeats.
Index repeated_elements(const Walk& walk);

}  // namespace fovea::gpu
