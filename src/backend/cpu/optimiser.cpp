// Parameter updates in place.
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

}  // namespace

void CpuBackend::adamw(const AdamWArgs& args, const AdamWTensors& of) const {
  const auto& [grad, param, m, v] = of;
  const double correction1 = 1 - std::pow(args.beta1, static_cast<double>(args.step));
  const double correction2 = 1 - std::pow(args.beta2, static_cast<double>(args.step));
  dispatch_float("adamw", param.dtype(), [&]<class T>(T) {
    const auto& kernels = simd::kernels().of<T>();
    parallel(param.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      kernels.adamw(args, correction1, correction2, grad.data<T>() + begin, param.data<T>() + begin,
                    m.data<T>() + begin, v.data<T>() + begin, end - begin);
    });
  });
}

// PyTorch's rule: g += wd p; buf = momentum buf + (1 - dampening) g (g itself at first);
// p -= lr (nesterov ? g + momentum buf : buf).
void CpuBackend::sgd(const SgdArgs& args, const SgdTensors& of) const {
  const auto& [grad, param, momentum] = of;
  dispatch_float("sgd", param.dtype(), [&]<class T>(T) {
    const T* g = grad.data<T>();
    T* p = param.data<T>();
    T* buffer = momentum.defined() ? momentum.data<T>() : nullptr;
    const T lr = static_cast<T>(args.lr);
    const T decay = static_cast<T>(args.weight_decay);
    const T mu = static_cast<T>(args.momentum);
    const T rest = static_cast<T>(1 - args.dampening);
    parallel(param.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T step = g[i] + decay * p[i];
        if (buffer != nullptr) {
          buffer[i] = args.first ? step : mu * buffer[i] + rest * step;
          step = args.nesterov ? step + mu * buffer[i] : buffer[i];
        }
        p[i] -= lr * step;
      }
    });
  });
}

void CpuBackend::ema(double decay, const Tensor& x, const Tensor& average) const {
  dispatch_float("ema", x.dtype(), [&]<class T>(T) {
    const auto& kernels = simd::kernels().of<T>();
    parallel(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      T* to = average.data<T>() + begin;
      kernels.combine(static_cast<T>(decay), to, static_cast<T>(1 - decay), x.data<T>() + begin, to,
                      end - begin);
    });
  });
}

}  // namespace fovea::cpu
