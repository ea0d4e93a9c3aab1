// Rotary positions of all heads of a tensor.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

// A piece is some tokens of an item, with all of their heads.
void CpuBackend::rotate(const RotateArgs& args) const {
  const auto& [back, x, cos, sin, y] = args;
  const std::int64_t n = x.size(1);
  const std::int64_t width = x.size(2);
  const std::int64_t dim = 2 * cos.size(1);
  if (x.numel() == 0) return;
  dispatch_stored("rotate", x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    parallel(x.size(0) * n, std::max<std::int64_t>(1, (1 << 15) / width),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row) {
                 const std::int64_t angles = row % n * dim / 2;
                 for (std::int64_t i = row * width; i < (row + 1) * width; i += dim) {
                   simd::kernels().of<S>().rotate_rows(back, cos.data<C>() + angles,
                                                       sin.data<C>() + angles, x.data<S>() + i, dim,
                                                       y.data<S>() + i, dim, 1, dim);
                 }
               }
             });
  });
}

}  // namespace fovea::cpu
