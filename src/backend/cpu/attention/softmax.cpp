// Softmax and log-softmax over the last axis.
#include <cmath>
#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

void CpuBackend::softmax(const SoftmaxArgs& args, const Tensor& x, const Tensor& mask,
                         const Tensor& y) const {
  const std::int64_t n = x.shape().back();
  const std::int64_t rows = n == 0 ? 0 : x.numel() / n;
  if (rows == 0) return;
  const std::int64_t queries = args.causal ? x.size(-2) : 1;
  const std::int64_t rows_per_item = mask.defined() ? rows / mask.shape()[0] : rows;
  const std::uint8_t* allowed = mask.defined() ? mask.data<std::uint8_t>() : nullptr;
  dispatch_float("softmax", x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    const auto& kernels = simd::kernels().of<T>();
    constexpr T kNever = -std::numeric_limits<T>::infinity();
    parallel(rows, std::max<std::int64_t>(1, 8192 / n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        T* row = to + r * n;
        // Keys beyond `keys` are hidden by the causal rule.
        const std::int64_t keys =
            args.causal ? std::max<std::int64_t>(0, std::min(n, r % queries + 1 + n - queries)) : n;
        std::copy_n(from + r * n, n, row);
        if (allowed != nullptr) {
          const std::uint8_t* item = allowed + r / rows_per_item * n;
          for (std::int64_t j = 0; j < keys; ++j) row[j] = item[j] ? row[j] : kNever;
        }
        for (std::int64_t j = keys; j < n; ++j) row[j] = kNever;
        const T top = kernels.max(row, n);
        // Nothing is allowed, unless a NaN was passed over: that makes a row of NaN.
        if (top == kNever && kernels.sum(row, n) == kNever) {
          std::fill(row, row + n, T{0});
        } else if (args.log) {
          const T shift = top + std::log(kernels.exp_sum(row, top, nullptr, n));
          for (std::int64_t j = 0; j < n; ++j) row[j] -= shift;
        } else {
          const T sum = kernels.exp_sum(row, top, row, n);
          kernels.unary(UnaryOp::kAffine, 1.0 / static_cast<double>(sum), 0, row, row, n);
        }
      }
    });
  });
}

void CpuBackend::softmax_backward(const SoftmaxArgs& args, const Tensor& y, const Tensor& dy,
                                  const Tensor& dx) const {
  const std::int64_t n = y.shape().back();
  const std::int64_t rows = n == 0 ? 0 : y.numel() / n;
  dispatch_float("softmax_backward", y.dtype(), [&]<class T>(T) {
    const auto& kernels = simd::kernels().of<T>();
    parallel(rows, std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, n)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t r = begin; r < end; ++r) {
                 const T* py = y.data<T>() + r * n;
                 const T* pdy = dy.data<T>() + r * n;
                 T* pdx = dx.data<T>() + r * n;
                 if (args.log) {
                   const T sum = kernels.sum(pdy, n);
                   kernels.exp_sum(py, T{0}, pdx, n);
                   for (std::int64_t j = 0; j < n; ++j) pdx[j] = pdy[j] - pdx[j] * sum;
                 } else {
                   kernels.softmax_backward(T{1}, py, pdy, kernels.dot(py, pdy, n), pdx, n);
                 }
               }
             });
  });
}

}  // namespace fovea::cpu
