// Parameter updates in place.
#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

double value_of(const Tensor& scale) { return scale.defined() ? *scale.data<double>() : 1; }

}  // namespace

void CpuBackend::adam(const AdamArgs& args, const std::vector<AdamTensors>& of) const {
  const double scale = value_of(args.scale);
  if (!std::isfinite(scale)) return;
  const double correction1 = 1 - std::pow(args.beta1, static_cast<double>(args.step));
  const double correction2 = 1 - std::pow(args.beta2, static_cast<double>(args.step));
  for (const AdamTensors& each : of) {
    dispatch_float("adam", each.param.dtype(), [&]<class T>(T) {
      const auto& kernels = simd::kernels().of<T>();
      parallel(each.param.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        kernels.adam(args, static_cast<T>(scale), correction1, correction2,
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

// As timm's: u = m / (1 - b1^t) / (sqrt(v) / sqrt(1 - b2^t) + eps) + wd p;  p -= lr |p| / |u| u.
void CpuBackend::lamb(const LambArgs& args, const std::vector<AdamTensors>& of) const {
  const double given = value_of(args.scale);
  if (!std::isfinite(given)) return;
  const double correction1 = 1 - std::pow(args.beta1, static_cast<double>(args.step));
  const double correction2 = 1 - std::pow(args.beta2, static_cast<double>(args.step));
  const auto norm = [&](const Tensor& x) {
    const Tensor sum = Tensor::empty({}, DType::kFloat64, x.device());
    sum_squares({x}, sum);
    return std::sqrt(*sum.data<double>());
  };
  for (const AdamTensors& each : of) {
    const Tensor update = Tensor::empty_like(each.param);
    dispatch_float("lamb", each.param.dtype(), [&]<class T>(T) {
      const T* g = each.grad.data<T>();
      T* p = each.param.data<T>();
      T* m = each.m.data<T>();
      T* v = each.v.data<T>();
      T* u = update.data<T>();
      const T scale = static_cast<T>(given);
      const T b1 = static_cast<T>(args.beta1), rest1 = static_cast<T>(1 - args.beta1);
      const T b2 = static_cast<T>(args.beta2), rest2 = static_cast<T>(1 - args.beta2);
      const T whole = static_cast<T>(1 / correction1);
      const T root = static_cast<T>(1 / std::sqrt(correction2));
      const T eps = static_cast<T>(args.eps);
      const T decay = static_cast<T>(args.weight_decay);
      parallel(each.param.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const T gi = scale * g[i];
          m[i] = b1 * m[i] + rest1 * gi;
          v[i] = b2 * v[i] + rest2 * gi * gi;
          u[i] = whole * m[i] / (std::sqrt(v[i]) * root + eps) + decay * p[i];
        }
      });
      double trust = 1;
      if (args.adapt) {
        const double of_weights = norm(each.param), of_update = norm(update);
        if (of_weights > 0 && of_update > 0) trust = of_weights / of_update;
        if (args.trust_clip) trust = std::min(trust, 1.0);
      }
      const T rate = static_cast<T>(args.lr * trust);
      parallel(each.param.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) p[i] -= rate * u[i];
      });
    });
  }
}

// u = sign(b1 m + (1 - b1) g);  p = p (1 - lr wd) - lr u;  m = b2 m + (1 - b2) g.
void CpuBackend::lion(const LionArgs& args, const std::vector<LionTensors>& of) const {
  const double given = value_of(args.scale);
  if (!std::isfinite(given)) return;
  for (const LionTensors& each : of) {
    dispatch_float("lion", each.param.dtype(), [&]<class T>(T) {
      const T* g = each.grad.data<T>();
      T* p = each.param.data<T>();
      T* m = each.m.data<T>();
      const T scale = static_cast<T>(given);
      const T b1 = static_cast<T>(args.beta1), rest1 = static_cast<T>(1 - args.beta1);
      const T b2 = static_cast<T>(args.beta2), rest2 = static_cast<T>(1 - args.beta2);
      const T lr = static_cast<T>(args.lr);
      const T kept = static_cast<T>(1 - args.lr * args.weight_decay);
      parallel(each.param.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const T gi = scale * g[i];
          const T mixed = b1 * m[i] + rest1 * gi;
          p[i] = kept * p[i] - lr * static_cast<T>((mixed > 0) - (mixed < 0));
          m[i] = b2 * m[i] + rest2 * gi;
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
