// Filling, converting and strided copying.
#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 15;

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

// Axes of size 1 dropped, neighbours joined where both sides allow it; innermost first.
struct Loop {
  struct Axis {
    std::int64_t size, src, dst;
  };
  std::vector<Axis> axes;

  explicit Loop(const CopyArgs& args) {
    for (int axis = args.shape.rank() - 1; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      const Axis next{args.shape[axis], args.src_strides[i], args.dst_strides[i]};
      if (next.size == 1) continue;
      if (!axes.empty() && next.src == axes.back().src * axes.back().size &&
          next.dst == axes.back().dst * axes.back().size) {
        axes.back().size *= next.size;
      } else {
        axes.push_back(next);
      }
    }
    if (axes.empty()) axes.push_back({1, 1, 1});
  }
};

template <class T, bool kAdd>
void copy_row(const T* src, std::int64_t src_step, T* dst, std::int64_t dst_step, std::int64_t n) {
  if constexpr (!kAdd) {
    if (src_step == 1 && dst_step == 1) {
      std::memcpy(dst, src, static_cast<std::size_t>(n) * sizeof(T));
      return;
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (kAdd) {
      T& to = dst[i * dst_step];
      to = static_cast<T>(static_cast<Compute<T>>(to) + static_cast<Compute<T>>(src[i * src_step]));
    } else {
      dst[i * dst_step] = src[i * src_step];
    }
  }
}

// A plane of two axes whose inner strides differ is walked in blocks, so that both sides stay in
// cache lines (plain transposition).
template <class T, bool kAdd>
void copy_plane(const T* src, T* dst, const Loop::Axis& inner, const Loop::Axis& outer) {
  constexpr std::int64_t kBlock = 32;
  const bool transposes = inner.src != 1 && outer.src == 1;
  if (!transposes) {
    for (std::int64_t o = 0; o < outer.size; ++o) {
      copy_row<T, kAdd>(src + o * outer.src, inner.src, dst + o * outer.dst, inner.dst, inner.size);
    }
    return;
  }
  for (std::int64_t o = 0; o < outer.size; o += kBlock) {
    const std::int64_t rows = std::min(kBlock, outer.size - o);
    for (std::int64_t i = 0; i < inner.size; i += kBlock) {
      const std::int64_t columns = std::min(kBlock, inner.size - i);
      for (std::int64_t row = o; row < o + rows; ++row) {
        copy_row<T, kAdd>(src + row * outer.src + i * inner.src, inner.src,
                          dst + row * outer.dst + i * inner.dst, inner.dst, columns);
      }
    }
  }
}

template <class T, bool kAdd>
void copy_pieces(ThreadPool& pool, const Loop& loop, const T* src, T* dst) {
  const Loop::Axis inner = loop.axes[0];
  const Loop::Axis outer = loop.axes.size() > 1 ? loop.axes[1] : Loop::Axis{1, 0, 0};
  std::int64_t planes = 1;
  // Accumulation into a repeated destination must not be split among threads.
  bool repeated = inner.dst == 0 || (outer.size > 1 && outer.dst == 0);
  for (std::size_t axis = 2; axis < loop.axes.size(); ++axis) {
    planes *= loop.axes[axis].size;
    repeated = repeated || loop.axes[axis].dst == 0;
  }
  const auto plane = [&](std::int64_t index) {
    const T* from = src;
    T* to = dst;
    for (std::size_t axis = 2; axis < loop.axes.size(); ++axis) {
      const std::int64_t i = index % loop.axes[axis].size;
      index /= loop.axes[axis].size;
      from += i * loop.axes[axis].src;
      to += i * loop.axes[axis].dst;
    }
    copy_plane<T, kAdd>(from, to, inner, outer);
  };
  const std::int64_t work = planes * inner.size * outer.size;
  if (repeated || work < kGrain) {
    for (std::int64_t i = 0; i < planes; ++i) plane(i);
    return;
  }
  if (planes > 1) {
    const std::int64_t group = std::max<std::int64_t>(1, kGrain / (inner.size * outer.size));
    pool.run((planes + group - 1) / group, [&](std::int64_t piece) {
      const std::int64_t end = std::min(planes, (piece + 1) * group);
      for (std::int64_t i = piece * group; i < end; ++i) plane(i);
    });
    return;
  }
  // One plane: cut its outer axis (its inner one if there is no outer).
  const bool cut_inner = outer.size == 1;
  const Loop::Axis cut = cut_inner ? inner : outer;
  const std::int64_t group =
      std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, cut_inner ? 1 : inner.size));
  pool.run((cut.size + group - 1) / group, [&](std::int64_t piece) {
    const std::int64_t begin = piece * group;
    Loop::Axis part = cut;
    part.size = std::min(group, cut.size - begin);
    copy_plane<T, kAdd>(src + begin * cut.src, dst + begin * cut.dst, cut_inner ? part : inner,
                        cut_inner ? outer : part);
  });
}

}  // namespace

void CpuBackend::fill(const Tensor& y, double value) const {
  dispatch_any("fill", y.dtype(), [&]<class T>(T) {
    T* to = y.data<T>();
    const T element = convert<T>(value);
    parallel(y.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::fill(to + begin, to + end, element);
    });
  });
}

void CpuBackend::cast(const Tensor& x, const Tensor& y) const {
  if (x.dtype() == y.dtype()) {
    parallel(x.bytes(), 8 * kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(y.host_memory() + begin, x.host_memory() + begin,
                  static_cast<std::size_t>(end - begin));
    });
    return;
  }
  const auto& stored = simd::kernels().bf16;
  if (x.dtype() == DType::kBFloat16 && y.dtype() == DType::kFloat32) {
    parallel(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      stored.widen(x.data<BFloat16>() + begin, y.data<float>() + begin, end - begin);
    });
    return;
  }
  if (x.dtype() == DType::kFloat32 && y.dtype() == DType::kBFloat16) {
    parallel(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      stored.narrow(x.data<float>() + begin, y.data<BFloat16>() + begin, end - begin);
    });
    return;
  }
  dispatch_any("cast", x.dtype(), [&]<class From>(From) {
    dispatch_any("cast", y.dtype(), [&]<class To>(To) {
      const From* from = x.data<From>();
      To* to = y.data<To>();
      parallel(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] = convert<To>(from[i]);
      });
    });
  });
}

void CpuBackend::copy(const CopyArgs& args, const Tensor& src, const Tensor& dst) const {
  if (args.shape.numel() == 0) return;
  const Loop loop(args);
  if (args.accumulate) {
    dispatch_stored("copy", dst.dtype(), [&]<class T>(T) {
      copy_pieces<T, true>(pool_, loop, src.data<T>() + args.src_offset,
                           dst.data<T>() + args.dst_offset);
    });
    return;
  }
  dispatch_any("copy", dst.dtype(), [&]<class T>(T) {
    copy_pieces<T, false>(pool_, loop, src.data<T>() + args.src_offset,
                          dst.data<T>() + args.dst_offset);
  });
}

}  // namespace fovea::cpu
