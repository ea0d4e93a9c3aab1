// Random fill and dropout (tensor/random.h).
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"
#include "tensor/random.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

}  // namespace

void CpuBackend::random_uniform(std::uint64_t key, double low, double high, const Tensor& y) const {
  dispatch_float("random_uniform", y.dtype(), [&]<class T>(T) {
    T* to = y.data<T>();
    parallel(y.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto draw = static_cast<std::uint64_t>(i);
        const double u = static_cast<double>(to_uniform(philox_block(key, draw / 4)[draw % 4]));
        to[i] = static_cast<T>(low + (high - low) * u);
      }
    });
  });
}

void CpuBackend::random_normal(std::uint64_t key, const NormalArgs& args, const Tensor& y) const {
  dispatch_float("random_normal", y.dtype(), [&]<class T>(T) {
    T* to = y.data<T>();
    parallel(y.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        // One Philox block per try: four words, two of which make a normal. Each element has its
        // own counters for its tries.
        constexpr std::uint64_t kTry = std::uint64_t{1} << 48;
        for (std::uint64_t attempt = 0;; ++attempt) {
          const auto words = philox_block(key, static_cast<std::uint64_t>(i) + attempt * kTry);
          const double radius =
              std::sqrt(-2 * std::log1p(-static_cast<double>(to_uniform(words[0]))));
          const double angle = 2 * M_PI * static_cast<double>(to_uniform(words[1]));
          const double value = args.mean + args.stddev * radius * std::cos(angle);
          if (value < args.low || value > args.high) continue;
          to[i] = static_cast<T>(value);
          break;
        }
      }
    });
  });
}

void CpuBackend::dropout(const DropoutArgs& args, const Tensor& x, const Tensor& y) const {
  const auto [key, p, block] = args;
  dispatch_stored("dropout", x.dtype(), [&]<class S>(S) {
    using T = Compute<S>;
    const S* from = x.data<S>();
    S* to = y.data<S>();
    const auto& kernels = simd::kernels().of<S>();
    const T scale = static_cast<T>(1 / (1 - p));
    if (block == 1) {
      parallel(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        kernels.dropout(key, static_cast<std::uint64_t>(begin), static_cast<T>(p), scale,
                        from + begin, to + begin, end - begin);
      });
      return;
    }
    const std::int64_t items = std::max<std::int64_t>(1, kGrain / block);
    parallel(x.numel() / block, items, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item) {
        const auto draw = static_cast<std::uint64_t>(item);
        const T u = static_cast<T>(to_uniform(philox_block(key, draw / 4)[draw % 4]));
        if (u < static_cast<T>(p)) {
          std::fill_n(to + item * block, block, S{});
        } else {
          kernels.unary(UnaryOp::kAffine, static_cast<double>(scale), 0, from + item * block,
                        to + item * block, block);
        }
      }
    });
  });
}

}  // namespace fovea::cpu
