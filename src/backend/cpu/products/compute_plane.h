// Stretches of memory in the type they are computed in: the memory itself or, where it stores
// another type (bfloat16), a copy in memory of the caller.
#pragma once

#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

template <class S>
const Compute<S>* widened(const S* x, std::int64_t n, Compute<S>* memory) {
  if constexpr (std::is_same_v<S, Compute<S>>) {
    return x;
  } else {
    simd::kernels().of<S>().widen(x, memory, n);
    return memory;
  }
}

/// Where y is computed; narrowed() then converts it to its place.
template <class S>
Compute<S>* room_for(S* y, Compute<S>* memory) {
  if constexpr (std::is_same_v<S, Compute<S>>) {
    return y;
  } else {
    return memory;
  }
}
template <class S>
void narrowed(const Compute<S>* x, std::int64_t n, S* y) {
  if constexpr (!std::is_same_v<S, Compute<S>>) simd::kernels().of<S>().narrow(x, y, n);
}

/// Elements of the caller's memory that a stretch of n needs.
template <class S>
constexpr std::int64_t copy_size(std::int64_t n) {
  return std::is_same_v<S, Compute<S>> ? 0 : n;
}

}  // namespace fovea::cpu
