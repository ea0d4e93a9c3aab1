// Layer norm and RMS norm over the last axis.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

std::int64_t grain(std::int64_t n) { return std::max<std::int64_t>(1, 16384 / n); }

// Rows [begin, end) of both norms; mean is undefined for RMS norm.
template <class S>
void forward(const LayerNormArgs& args, std::int64_t begin, std::int64_t end) {
  using T = Compute<S>;
  const auto& [eps, x, weight, bias, y, mean, rstd] = args;
  const std::int64_t n = x.shape().back();
  simd::kernels().of<S>().norm_rows({.rows = end - begin,
                                     .n = n,
                                     .eps = static_cast<T>(eps),
                                     .x = x.data<S>() + begin * n,
                                     .weight = optional<T>(weight),
                                     .bias = optional<T>(bias),
                                     .y = y.data<S>() + begin * n,
                                     .mean = mean.defined() ? mean.data<T>() + begin : nullptr,
                                     .rstd = rstd.data<T>() + begin});
}

// The backward pass of both norms; mean is undefined for RMS norm.
template <class S>
void backward(ThreadPool& pool, const LayerNormBackwardArgs& args) {
  using T = Compute<S>;
  const auto& [x, weight, mean, rstd, dy, dx, dweight, dbias] = args;
  const std::int64_t n = x.shape().back();
  const std::int64_t rows = x.numel() / n;
  // Gradients of weight and bias are summed in pieces and added up in order.
  constexpr std::int64_t kLeastElements = 1 << 15, kLeastRows = 128;
  const std::int64_t most = piece_count(
      rows * n, {.few = 32, .least = std::max(kLeastElements, kLeastRows * n), .size = 2 * n});
  const std::int64_t chunk = std::max<std::int64_t>(1, divide_up(rows, most));
  const std::int64_t pieces = divide_up(rows, chunk);
  Tensor partial;
  if (dweight.defined() || dbias.defined()) {
    partial = Tensor::empty({2, pieces, n}, kDTypeOf<T>, x.device());
    std::fill_n(partial.data<T>(), partial.numel(), T{0});
  }
  T* sums = optional<T>(partial);
  const auto& kernels = simd::kernels().of<S>();
  pool.run(pieces, [&](std::int64_t piece) {
    T* dw = dweight.defined() ? sums + piece * n : nullptr;
    T* db = dbias.defined() ? sums + (pieces + piece) * n : nullptr;
    const std::int64_t first = piece * chunk;
    kernels.norm_rows_backward({.rows = std::min(rows - first, chunk),
                                .n = n,
                                .x = x.data<S>() + first * n,
                                .weight = optional<T>(weight),
                                .mean = mean.defined() ? mean.data<T>() + first : nullptr,
                                .rstd = rstd.data<T>() + first,
                                .dy = dy.data<S>() + first * n,
                                .dx = dx.defined() ? dx.data<S>() + first * n : nullptr,
                                .dweight = dw,
                                .dbias = db});
  });
  const auto& adds = simd::kernels().of<T>();
  const auto total = [&](const Tensor& to, std::int64_t first) {
    if (!to.defined()) return;
    std::fill_n(to.data<T>(), n, T{0});
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      adds.axpy(T{1}, sums + (first + piece) * n, to.data<T>(), n);
    }
  };
  total(dweight, 0);
  total(dbias, pieces);
}

}  // namespace

void CpuBackend::layer_norm(const LayerNormArgs& args) const {
  const std::int64_t n = args.x.shape().back();
  dispatch_stored("layer_norm", args.x.dtype(), [&]<class S>(S) {
    parallel(args.x.numel() / n, grain(n),
             [&](std::int64_t begin, std::int64_t end) { forward<S>(args, begin, end); });
  });
}

void CpuBackend::layer_norm_backward(const LayerNormBackwardArgs& args) const {
  dispatch_stored("layer_norm_backward", args.x.dtype(),
                  [&]<class S>(S) { backward<S>(pool_, args); });
}

void CpuBackend::rms_norm(const RmsNormArgs& args) const {
  layer_norm({.eps = args.eps,
              .x = args.x,
              .weight = args.weight,
              .bias = {},
              .y = args.y,
              .mean = {},
              .rstd = args.rstd});
}

void CpuBackend::rms_norm_backward(const RmsNormBackwardArgs& args) const {
  const LayerNormBackwardArgs centred{.x = args.x,
                                      .weight = args.weight,
                                      .mean = {},
                                      .rstd = args.rstd,
                                      .dy = args.dy,
                                      .dx = args.dx,
                                      .dweight = args.dweight,
                                      .dbias = {}};
  dispatch_stored("rms_norm_backward", args.x.dtype(),
                  [&]<class S>(S) { backward<S>(pool_, centred); });
}

}  // namespace fovea::cpu
