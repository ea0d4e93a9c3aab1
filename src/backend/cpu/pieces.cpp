#include "backend/cpu/pieces.h"

#include <algorithm>

#include "backend/cpu/products/gemm_packed.h"
#include "backend/cpu/products/onednn.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

template <class T>
bool by_library(Bits bits) {
  return !std::is_same_v<T, double> && bits == Bits::kOfSizes && onednn::available();
}

template <class T, class C>
void multiply(Bits bits, std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<T>& a,
              const Matrix<T>& b, bool accumulate, C* c, std::int64_t ldc) {
  if constexpr (!std::is_same_v<T, double>) {
    if (by_library<T>(bits)) {
      const onednn::Gemm shape{.operands = kDTypeOf<T>,
                               .result = kDTypeOf<C>,
                               .trans_a = a.transposed,
                               .trans_b = b.transposed,
                               .m = m,
                               .n = n,
                               .k = k,
                               .lda = a.ld,
                               .ldb = b.ld,
                               .ldc = ldc,
                               .accumulate = accumulate};
      return onednn::gemm(shape, a.data, b.data, nullptr, c);
    }
  }
  const GemmArgs args{.trans_a = a.transposed,
                      .trans_b = b.transposed,
                      .m = m,
                      .n = n,
                      .k = k,
                      .lda = a.ld,
                      .ldb = b.ld,
                      .ldc = ldc};
  multiply_packed(args, Operands<T, C>{a.data, b.data, nullptr, c}, accumulate);
}

std::int64_t piece_count(std::int64_t work, const PieceRule& rule) {
  constexpr std::int64_t kMost = 128;
  std::int64_t pieces = rule.few;
  while (2 * pieces <= kMost && work / (2 * pieces) >= rule.least &&
         2 * pieces * rule.size <= kPartialElements) {
    pieces *= 2;
  }
  return pieces;
}

Chunks::Chunks(std::int64_t units, std::int64_t size, std::int64_t most) {
  chunk = divide_up(units, std::clamp<std::int64_t>(kPartialElements / size, 1, most));
  chunks = divide_up(units, chunk);
}

template <class T>
void sum_parts(ThreadPool& pool, const T* parts, std::int64_t count, std::int64_t size, T* to) {
  constexpr std::int64_t kGrain = 1 << 12;
  pool.run(divide_up(size, kGrain), [&](std::int64_t piece) {
    const std::int64_t begin = piece * kGrain;
    const std::int64_t n = std::min(size, begin + kGrain) - begin;
    if (count == 0) {
      std::fill_n(to + begin, n, T{0});
    } else {
      std::copy_n(parts + begin, n, to + begin);
    }
    for (std::int64_t part = 1; part < count; ++part)
      simd::kernels().of<T>().axpy(T{1}, parts + part * size + begin, to + begin, n);
  });
}

template bool by_library<float>(Bits);
template bool by_library<double>(Bits);
template bool by_library<BFloat16>(Bits);
#define FOVEA_INSTANTIATE(T, C)                                                                  \
  template void multiply<T, C>(Bits, std::int64_t, std::int64_t, std::int64_t, const Matrix<T>&, \
                               const Matrix<T>&, bool, C*, std::int64_t);
FOVEA_INSTANTIATE(float, float)
FOVEA_INSTANTIATE(double, double)
FOVEA_INSTANTIATE(BFloat16, BFloat16)
FOVEA_INSTANTIATE(BFloat16, float)
#undef FOVEA_INSTANTIATE

template void sum_parts<float>(ThreadPool&, const float*, std::int64_t, std::int64_t, float*);
template void sum_parts<double>(ThreadPool&, const double*, std::int64_t, std::int64_t, double*);

}  // namespace fovea::cpu
