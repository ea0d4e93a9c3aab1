// Softmax cross-entropy with label smoothing. dgsa 6.4.
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

void CpuBackend::cross_entropy(const CrossEntropyArgs& args) const {
  const auto& [smoothing, ignore_index, logits, target, loss, lse] = args;
  const std::int64_t n = logits.shape().back();
  dispatch_float("cross_entropy", logits.dtype(), [&]<class T>(T) {
    const auto& kernels = simd::kernels().of<T>();
    parallel(target.numel(), std::max<std::int64_t>(1, 4096 / n),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t r = begin; r < end; ++r) {
                 const T* row = logits.data<T>() + r * n;
                 const T top = kernels.max(row, n);
                 const T log_sum = top + std::log(kernels.exp_sum(row, top, nullptr, n));
                 lse.data<T>()[r] = log_sum;
                 const std::int64_t label = target.data<std::int64_t>()[r];
                 T value = 0;
                 if (label != ignore_index) {
                   const T e = static_cast<T>(smoothing);
                   value = log_sum - (T{1} - e) * row[label];
                   if (smoothing > 0) value -= e * kernels.sum(row, n) / static_cast<T>(n);
                 }
                 loss.data<T>()[r] = value;
               }
             });
  });
}

void CpuBackend::cross_entropy_backward(const CrossEntropyBackwardArgs& args) const {
  const auto& [smoothing, ignore_index, logits, target, lse, dloss, dlogits] = args;
  const std::int64_t n = logits.shape().back();
  dispatch_float("cross_entropy_backward", logits.dtype(), [&]<class T>(T) {
    const auto& kernels = simd::kernels().of<T>();
    const T rest = static_cast<T>(smoothing / static_cast<double>(n));
    parallel(target.numel(), std::max<std::int64_t>(1, 4096 / n),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t r = begin; r < end; ++r) {
                 const T* row = logits.data<T>() + r * n;
                 T* to = dlogits.data<T>() + r * n;
                 const std::int64_t label = target.data<std::int64_t>()[r];
                 if (label == ignore_index) {
                   std::fill_n(to, n, T{0});
                   continue;
                 }
                 const T scale = dloss.data<T>()[r];
                 kernels.exp_sum(row, lse.data<T>()[r], to, n);
                 for (std::int64_t j = 0; j < n; ++j) to[j] = scale * (to[j] - rest);
                 to[label] -= scale * static_cast<T>(1 - smoothing);
               }
             });
  });
}

}  // namespace fovea::cpu
