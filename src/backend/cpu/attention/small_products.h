// Products of the small matrices that attention kernels copy heads to, in the calling thread.
#pragma once

#include <cstdint>

#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

/// c (m, n), a sum over k.
struct ProductSizes {
  std::int64_t m, n, k;
};

template <class C>
struct ProductOptions {
  C alpha = 1;
  bool accumulate = false;
  simd::Omitted omitted = simd::Omitted::kNothing;
};

/// c (m, n) = alpha a (m, k) b (k, n), or += that; rows of a are lda apart.
template <class C>
void times(const ProductSizes& sizes, const C* a, std::int64_t lda, const C* b, C* c,
           const ProductOptions<C>& options = {}) {
  simd::kernels().of<C>().product({.m = sizes.m,
                                   .n = sizes.n,
                                   .k = sizes.k,
                                   .alpha = options.alpha,
                                   .a = a,
                                   .a_row = lda,
                                   .b = b,
                                   .b_row = sizes.n,
                                   .c = c,
                                   .ldc = sizes.n,
                                   .accumulate = options.accumulate,
                                   .omitted = options.omitted});
}

/// c = alpha a^T b, or += that; a (k, m) has rows lda apart.
template <class C>
void transposed_times(const ProductSizes& sizes, const C* a, std::int64_t lda, const C* b, C* c,
                      const ProductOptions<C>& options = {}) {
  simd::kernels().of<C>().product({.m = sizes.m,
                                   .n = sizes.n,
                                   .k = sizes.k,
                                   .alpha = options.alpha,
                                   .a = a,
                                   .a_row = 1,
                                   .a_column = lda,
                                   .b = b,
                                   .b_row = sizes.n,
                                   .c = c,
                                   .ldc = sizes.n,
                                   .accumulate = options.accumulate,
                                   .omitted = options.omitted});
}

/// c = alpha a b^T, or += that; b (n, k), no gaps between rows.
template <class C>
void times_transposed(const ProductSizes& sizes, const C* a, const C* b, C* c,
                      const ProductOptions<C>& options = {}) {
  simd::kernels().of<C>().product({.m = sizes.m,
                                   .n = sizes.n,
                                   .k = sizes.k,
                                   .alpha = options.alpha,
                                   .a = a,
                                   .a_row = sizes.k,
                                   .b = b,
                                   .b_row = 1,
                                   .b_column = sizes.k,
                                   .c = c,
                                   .ldc = sizes.n,
                                   .accumulate = options.accumulate,
                                   .omitted = options.omitted});
}

}  // namespace fovea::cpu
