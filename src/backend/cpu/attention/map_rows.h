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

/// Columns of a row that are computed: whole vectors, those behind the last key products with
/// zeros.
template <class C>
std::int64_t whole_lanes(std::int64_t keys) {
  const std::int64_t lanes = simd::kernels().lanes<C>();
  return (keys + lanes - 1) / lanes * lanes;
}

/// Elements of a row for `keys` keys: at least one vector, which the kernels of rows need. Long
/// rows are no multiple of 1 KiB: a block of columns would lie in few sets of the first-level
/// cache.
template <class C>
std::int64_t whole_vectors(std::int64_t keys) {
  constexpr std::int64_t kLong = 1024, kSame = 256;
  const std::int64_t n = whole_lanes<C>(std::max<std::int64_t>(1, keys));
  return n >= kLong && n % kSame == 0 ? n + simd::kSlack : n;
}

}  // namespace fovea::cpu
