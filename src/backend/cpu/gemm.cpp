// Matrix products: single-threaded BLAS on tiles whose size does not depend on the thread count.
#include <cblas.h>

#include "backend/cpu/blas.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

// Rows of c per piece: large enough for BLAS to run at speed, small enough to share out.
std::int64_t tile_rows(const GemmArgs& args) {
  constexpr std::int64_t kLeastMacs = 1 << 20;
  const std::int64_t per_row = std::max<std::int64_t>(1, args.n * args.k);
  const std::int64_t wanted =
      std::max<std::int64_t>(args.m >= 1024 ? 256 : 64, kLeastMacs / per_row);
  return std::min(args.m, wanted);
}

}  // namespace

void CpuBackend::gemm(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& bias,
                      const Tensor& c) const {
  if (args.m == 0 || args.n == 0 || args.batch == 0) return;
  dispatch_float("gemm", c.dtype(), [&]<class T>(T) {
    const T* pa = a.data<T>();
    const T* pb = b.data<T>();
    const T* pbias = bias.defined() ? bias.data<T>() : nullptr;
    T* pc = c.data<T>();
    const std::int64_t rows = tile_rows(args);
    const std::int64_t tiles = (args.m + rows - 1) / rows;
    // Small products of a batch are grouped.
    const std::int64_t macs = std::max<std::int64_t>(1, args.m * args.n * args.k);
    const std::int64_t group = tiles > 1 ? 1 : std::max<std::int64_t>(1, (1 << 20) / macs);
    const std::int64_t total = args.batch * tiles;
    pool_.run((total + group - 1) / group, [&](std::int64_t piece) {
      for (std::int64_t i = piece * group; i < std::min(total, (piece + 1) * group); ++i) {
        const std::int64_t item = i / tiles;
        const std::int64_t first = i % tiles * rows;
        const std::int64_t m = std::min(rows, args.m - first);
        T* to = pc + item * args.stride_c + first * args.ldc;
        double beta = args.beta;
        if (pbias != nullptr) {
          for (std::int64_t r = 0; r < m; ++r) std::copy_n(pbias, args.n, to + r * args.ldc);
          beta = 1;
        }
        const T* from = pa + item * args.stride_a + (args.trans_a ? first : first * args.lda);
        blas_gemm<T>(args.trans_a, args.trans_b, m, args.n, args.k, static_cast<T>(args.alpha),
                     from, args.lda, pb + item * args.stride_b, args.ldb, static_cast<T>(beta), to,
                     args.ldc);
      }
    });
  });
}

}  // namespace fovea::cpu
