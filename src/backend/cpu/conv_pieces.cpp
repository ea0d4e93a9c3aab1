#include "backend/cpu/conv_pieces.h"

#include <algorithm>

#include "backend/cpu/blas.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

template <class T>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<T>& a,
              const Matrix<T>& b, bool accumulate, T* c, std::int64_t ldc) {
  if constexpr (std::is_same_v<T, float>) {
    if (onednn::available()) {
      const onednn::Gemm shape{.trans_a = a.transposed,
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
  blas_gemm<T>(a.transposed, b.transposed, m, n, k, T{1}, a.data, a.ld, b.data, b.ld,
               accumulate ? T{1} : T{0}, c, ldc);
}

Chunks::Chunks(std::int64_t units, std::int64_t size) {
  constexpr std::int64_t kPartialElements = 1 << 21;
  chunk = divide_up(units, std::clamp<std::int64_t>(kPartialElements / size, 1, kPieces));
  chunks = divide_up(units, chunk);
}

template <class T>
void sum_parts(ThreadPool& pool, const T* parts, std::int64_t count, std::int64_t size, T* to) {
  constexpr std::int64_t kGrain = 1 << 12;
  pool.run(divide_up(size, kGrain), [&](std::int64_t piece) {
    const std::int64_t begin = piece * kGrain;
    const std::int64_t n = std::min(size, begin + kGrain) - begin;
    std::copy_n(parts + begin, n, to + begin);
    for (std::int64_t part = 1; part < count; ++part)
      simd::kernels().of<T>().axpy(T{1}, parts + part * size + begin, to + begin, n);
  });
}

#define FOVEA_INSTANTIATE(T)                                                            \
  template void multiply<T>(std::int64_t, std::int64_t, std::int64_t, const Matrix<T>&, \
                            const Matrix<T>&, bool, T*, std::int64_t);                  \
  template void sum_parts<T>(ThreadPool&, const T*, std::int64_t, std::int64_t, T*);
FOVEA_INSTANTIATE(float)
FOVEA_INSTANTIATE(double)
#undef FOVEA_INSTANTIATE

}  // namespace fovea::cpu
