// Rows of attention maps in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

/// The score of a key that is not allowed.
template <class C>
constexpr C kNever = -std::numeric_limits<C>::infinity();

/// Elements of a row for `keys` keys: at least one vector, which the kernels of rows need. Long
/// rows are no multiple of 1 KiB: a block of columns would lie in few sets of the first-level
/// cache.
inline std::int64_t whole_vectors(std::int64_t keys) {
  constexpr std::int64_t kLong = 1024, kSame = 256;
  const std::int64_t vectors = std::max<std::int64_t>(1, (keys + simd::kSlack - 1) / simd::kSlack);
  const std::int64_t n = vectors * simd::kSlack;
  return n >= kLong && n % kSame == 0 ? n + simd::kSlack : n;
}

/// Columns of a row that are computed: those behind the last key are products with zeros.
template <class C>
std::int64_t whole_lanes(std::int64_t keys) {
  const std::int64_t lanes = simd::kernels().lanes<C>();
  return (keys + lanes - 1) / lanes * lanes;
}

}  // namespace fovea::cpu
