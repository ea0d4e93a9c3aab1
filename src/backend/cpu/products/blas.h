// cblas gemm for both floating types, row-major: c = op(a) op(b), or c += op(a) op(b).
#pragma once

#include <cblas.h>

#include <cstdint>

namespace fovea::cpu {

/// Lives around each call of OpenBLAS. Throws BackendError where OpenBLAS would find no memory.
class BlasCall {
 public:
  BlasCall();
  ~BlasCall();
  BlasCall(const BlasCall&) = delete;
  BlasCall& operator=(const BlasCall&) = delete;
};

template <class T>
inline void blas_gemm(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k,
                      const T* a, std::int64_t lda, const T* b, std::int64_t ldb, bool accumulate,
                      T* c, std::int64_t ldc) {
  const BlasCall call;
  const auto ta = trans_a ? CblasTrans : CblasNoTrans;
  const auto tb = trans_b ? CblasTrans : CblasNoTrans;
  const T beta = accumulate ? T{1} : T{0};
  const auto i = [](std::int64_t value) { return static_cast<blasint>(value); };
  if constexpr (sizeof(T) == sizeof(float)) {
    cblas_sgemm(CblasRowMajor, ta, tb, i(m), i(n), i(k), T{1}, a, i(lda), b, i(ldb), beta, c,
                i(ldc));
  } else {
    cblas_dgemm(CblasRowMajor, ta, tb, i(m), i(n), i(k), T{1}, a, i(lda), b, i(ldb), beta, c,
                i(ldc));
  }
}

}  // namespace fovea::cpu
