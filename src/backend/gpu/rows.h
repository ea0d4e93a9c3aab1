// Rows of elements, shared out to teams of work items (group.h of kernels/).
#pragma once

#include <cstdint>

#include "backend/gpu/kernels/structs.h"
#include "tensor/tensor.h"

namespace fovea::gpu {

/// Some elements for each of a team, while a row is long enough for that.
inline Rows rows_of(std::int64_t count, std::int64_t n) {
  constexpr std::int64_t kEach = 8;
  Int32 team = 1;
  while (team < GROUP_SIZE && team * kEach < n) team *= 2;
  return {.count = count, .n = n, .team = team};
}

/// Of the last axis.
inline Rows rows_of(const Tensor& x) {
  const Shape& shape = x.shape();
  return rows_of(shape.part(0, shape.rank() - 1).numel(), shape.back());
}

}  // namespace fovea::gpu
