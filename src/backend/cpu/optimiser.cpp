// Parameter updates in place.
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

double value_of(const Tensor& scale) { return scale.defined() ? *scale.data<double>() : 1; }

}  // namespace

void CpuBackend::adamw(const AdamWArgs& args, const std::vector<AdamWTensors>& of) const {
  const double scale = value_of(args.scale);
  if (!std::isfinite(scale)) return;
  const double correction1 = 1 - std::pow(args.beta1, static_cast<double>(args.step));
  const double correction2 = 1 - std::pow(args.beta2, static_cast<double>(args.step));
  for (const AdamWTensors& each : of) {
    dispatch_float("adamw", each.param.dtype(), [&]<class T>(T) {
      const auto& kernels = simd::kernels().of<T>();
      parallel(each.param.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        kernels.adamw(args, static_cast<T>(scale), correction1, correction2,
                      each.grad.data<T>() + begin, each.param.data<T>() + begin,
                      each.m.data<T>() + begin, each.v.data<T>() + begin, end - begin);
      });
    });
  }
}

// PyTorch's rule: g += wd p; buf = momentum buf + (1 - dampening) g (g itself at first);
// p -= lr (nesterov ? g + momentum buf : buf).
void CpuBackend::sgd(const SgdArgs& args, const std::vector<SgdTensors>& of) const {
  const double given = value_of(args.scale);
  if (!std::isfinite(given)) return;
  for (const SgdTensors& each : of) {
    dispatch_float("sgd", each.param.dtype(), [&]<class T>(T) {
      const T* g = each.grad.data<T>();
      T* p = each.param.data<T>();
      T* buffer = each.momentum.defined() ? each.momentum.data<T>() : nullptr;
      const T scale = static_cast<T>(given);
      const T lr = static_cast<T>(args.lr);
      const T decay = static_cast<T>(args.weight_decay);
      const T mu = static_cast<T>(args.momentum);
      const T rest = static_cast<T>(1 - args.dampening);
      parallel(each.param.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          T step = scale * g[i] + decay * p[i];
          if (buffer != nullptr) {
            buffer[i] = args.first ? step : mu * buffer[i] + rest * step;
            step = args.nesterov ? step + mu * buffer[i] : buffer[i];
          }
          p[i] -= lr * step;
        }
      });
    });
  }
}

void CpuBackend::ema(double decay, const std::vector<Averaged>& of) const {
  for (const Averaged& each : of) {
    dispatch_float("ema", each.x.dtype(), [&]<class T>(T) {
      const auto& kernels = simd::kernels().of<T>();
      parallel(each.x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        T* to = each.average.data<T>() + begin;
        kernels.combine(static_cast<T>(decay), to, static_cast<T>(1 - decay),
                        each.x.data<T>() + begin, to, end - begin);
      });
    });
  }
}

}  // namespace fovea::cpu
