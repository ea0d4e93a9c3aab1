// The planes are copied into padded ones, where a tap of the kernel is one distance for every
// output position, so that the inner loops run over many rows at once:
//   wide[i] = sum over taps of w[tap] padded[i + distance[tap]].
// "Wide" outputs lie as far apart as their inputs do; what falls between rows or between strides is
// not used (forward) or zero (backward). All buffers end in zeros, so that vectors may be read
// whole.
#include "backend/cpu/conv/conv_depthwise.h"

#include <algorithm>
#include <vector>

#include "backend/cpu/pieces.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

// Copies a row, converting between the type it is stored in and the one it is computed in.
template <class From, class To>
void copy_row(const From* from, std::int64_t n, To* to) {
  if constexpr (std::is_same_v<From, To>) {
    std::copy_n(from, n, to);
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    simd::kernels().bf16.widen(from, to, n);
  } else {
    simd::kernels().bf16.narrow(from, to, n);
  }
}

class Padded {
 public:
  explicit Padded(const ConvGeometry& g) : g_(g) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      size_[axis] =
          (g.out[axis] - 1) * g.stride[axis] + (g.kernel[axis] - 1) * g.dilation[axis] + 1;
    }
    for (std::int64_t tap = 0; tap < g.taps(); ++tap) {
      const std::int64_t d = tap / (g.kernel[1] * g.kernel[2]) * g.dilation[0];
      const std::int64_t h = tap / g.kernel[2] % g.kernel[1] * g.dilation[1];
      const std::int64_t w = tap % g.kernel[2] * g.dilation[2];
      distances_.push_back((d * size_[1] + h) * size_[2] + w);
    }
    // Rows that follow each other in the output also do in the input only without a stride.
    for (const std::int64_t distance : distances_) behind_.push_back(distances_.back() - distance);
    constexpr std::int64_t kRunElements = 1 << 12;
    rows_ = g.stride[1] > 1 ? 1 : std::clamp<std::int64_t>(kRunElements / size_[2], 1, g.out[1]);
  }

  /// Sizes of buffers: a padded plane, a wide run.
  std::int64_t elements() const { return product(size_) + simd::kSlack; }
  std::int64_t widest() const { return length(rows_) + simd::kSlack; }
  const std::int64_t* distances() const { return distances_.data(); }
  /// Distances seen from the far end: reach() - distance.
  const std::int64_t* behind() const { return behind_.data(); }
  std::int64_t reach() const { return distances_.back(); }

  /// padded = plane with its borders.
  template <class S>
  void load(const S* plane, Compute<S>* padded) const {
    std::fill_n(padded, elements(), Compute<S>{0});
    for_inner_rows([&](std::int64_t inside, std::int64_t outside, std::int64_t n) {
      copy_row(plane + outside, n, padded + inside);
    });
  }
  /// plane = padded without its borders.
  template <class S>
  void store(const Compute<S>* padded, S* plane) const {
    std::fill_n(plane, g_.in_size(), S{});  // inputs that no output reads
    for_inner_rows([&](std::int64_t inside, std::int64_t outside, std::int64_t n) {
      copy_row(padded + inside, n, plane + outside);
    });
  }

  /// Calls visit(first output of the run, its input in the padded plane, rows, wide length).
  template <class Visit>
  void for_runs(const Visit& visit) const {
    for (std::int64_t d = 0; d < g_.out[0]; ++d) {
      for (std::int64_t h = 0; h < g_.out[1]; h += rows_) {
        const std::int64_t rows = std::min(rows_, g_.out[1] - h);
        visit((d * g_.out[1] + h) * g_.out[2],
              (d * g_.stride[0] * size_[1] + h * g_.stride[1]) * size_[2], rows, length(rows));
      }
    }
  }
  template <class S>
  void narrow(const Compute<S>* wide, std::int64_t rows, S* y) const {
    const std::int64_t n = g_.out[2];
    for (std::int64_t r = 0; r < rows; ++r, y += n, wide += size_[2]) {
      if (g_.stride[2] == 1) {
        copy_row(wide, n, y);
      } else {
        for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<S>(wide[i * g_.stride[2]]);
      }
    }
  }
  /// Writes only where outputs are: the gaps must be zero.
  template <class S>
  void widen(const S* y, std::int64_t rows, Compute<S>* wide) const {
    const std::int64_t n = g_.out[2];
    for (std::int64_t r = 0; r < rows; ++r, y += n, wide += size_[2]) {
      if (g_.stride[2] == 1) {
        copy_row(y, n, wide);
      } else {
        for (std::int64_t i = 0; i < n; ++i) wide[i * g_.stride[2]] = static_cast<Compute<S>>(y[i]);
      }
    }
  }

 private:
  std::int64_t length(std::int64_t rows) const {
    return (rows - 1) * size_[2] + (g_.out[2] - 1) * g_.stride[2] + 1;
  }

  // Rows that the plane and the padded plane share.
  template <class Visit>
  void for_inner_rows(const Visit& visit) const {
    Axes first{};
    Axes last{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      first[axis] = std::max<std::int64_t>(0, -g_.padding[axis]);
      last[axis] = std::min(g_.in[axis], size_[axis] - g_.padding[axis]);
    }
    if (last[2] <= first[2]) return;
    for (std::int64_t d = first[0]; d < last[0]; ++d) {
      for (std::int64_t h = first[1]; h < last[1]; ++h) {
        const std::int64_t inside =
            ((d + g_.padding[0]) * size_[1] + h + g_.padding[1]) * size_[2] + g_.padding[2];
        visit(inside + first[2], (d * g_.in[1] + h) * g_.in[2] + first[2], last[2] - first[2]);
      }
    }
  }

  ConvGeometry g_;
  Axes size_{};
  std::int64_t rows_ = 1;
  std::vector<std::int64_t> distances_, behind_;
};

// 3x3 windows around every element, one output channel per group: conv3x3 of simd.h, which needs no
// padded copy. Planes are copied to have room around them, and into the compute type.
bool same3x3(const ConvGeometry& g) {
  constexpr Axes kOnes{1, 1, 1};
  return g.c_out == 1 && g.kernel == Axes{1, 3, 3} && g.padding == Axes{0, 1, 1} &&
         g.stride == kOnes && g.dilation == kOnes;
}

// y of every plane from x; reversed: dx from dy.
template <class T>
void correlate3x3(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Tensor& weight,
                  bool reversed, const Compute<T>* bias, const Tensor& y) {
  using C = Compute<T>;
  const std::int64_t size = g.in_size();
  const std::int64_t planes = g.batch * g.groups;
  const std::int64_t grain = plane_grain(size);
  RoomyPlanes<C>::reserve_all(pool, 2, size, y);
  pool.run(divide_up(planes, grain), [&](std::int64_t piece) {
    const RoomyPlanes<C> memory(2, size, y);
    for (std::int64_t p = piece * grain; p < std::min(planes, (piece + 1) * grain); ++p) {
      const std::int64_t channel = p % g.groups;
      if (p + 1 < planes) {
        bring_near<Access::kRead>(x.data<T>() + (p + 1) * size, size);
        bring_near<Access::kWrite>(y.data<T>() + (p + 1) * size, size);
      }
      copy_row(x.data<T>() + p * size, size, memory[0]);
      simd::kernels().of<C>().conv3x3(memory[0], g.in[1], g.in[2], weight.data<C>() + 9 * channel,
                                      reversed, memory[1]);
      if (bias != nullptr) {
        for (std::int64_t i = 0; i < size; ++i) memory[1][i] += bias[channel];
      }
      copy_row(memory[1], size, y.data<T>() + p * size);
    }
  });
}

template <class T>
void correlate3x3_sums(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Tensor& dy,
                       const Tensor& dweight) {
  using C = Compute<T>;
  const std::int64_t size = g.in_size();
  const std::int64_t grain = plane_grain(g.batch * size);
  RoomyPlanes<C>::reserve_all(pool, 2, size, dweight);
  pool.run(divide_up(g.groups, grain), [&](std::int64_t piece) {
    const RoomyPlanes<C> memory(2, size, dweight);
    for (std::int64_t c = piece * grain; c < std::min(g.groups, (piece + 1) * grain); ++c) {
      double sums[9] = {};
      for (std::int64_t p = c; p < g.batch * g.groups; p += g.groups) {
        if (p + g.groups < g.batch * g.groups) {
          bring_near<Access::kRead>(x.data<T>() + (p + g.groups) * size, size);
          bring_near<Access::kRead>(dy.data<T>() + (p + g.groups) * size, size);
        }
        copy_row(x.data<T>() + p * size, size, memory[0]);
        copy_row(dy.data<T>() + p * size, size, memory[1]);
        simd::kernels().of<C>().conv3x3_sums(memory[0], memory[1], g.in[1], g.in[2], sums);
      }
      for (int tap = 0; tap < 9; ++tap) dweight.data<C>()[9 * c + tap] = static_cast<C>(sums[tap]);
    }
  });
}

}  // namespace

template <class T>
void depthwise_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x,
                       const Tensor& weight, const Compute<T>* bias, const Tensor& y) {
  using C = Compute<T>;
  if (same3x3(g)) return correlate3x3<T>(pool, g, x, weight, false, bias, y);
  const Padded layout(g);
  const auto& kernels = simd::kernels().of<C>();
  const std::int64_t planes = g.batch * g.groups;
  const std::int64_t grain = plane_grain(g.c_out * g.out_size());
  reserve<C>(pool, layout.elements() + layout.widest(), y);
  pool.run((planes + grain - 1) / grain, [&](std::int64_t piece) {
    const Tensor memory = scratch<C>(layout.elements() + layout.widest(), y);
    C* padded = memory.data<C>();
    C* wide = padded + layout.elements();
    for (std::int64_t p = piece * grain; p < std::min(planes, (piece + 1) * grain); ++p) {
      layout.load(x.data<T>() + p * g.in_size(), padded);
      for (std::int64_t m = 0; m < g.c_out; ++m) {
        const std::int64_t channel = p % g.groups * g.c_out + m;
        const C* w = weight.data<C>() + channel * g.taps();
        T* to = y.data<T>() + (p * g.c_out + m) * g.out_size();
        layout.for_runs([&](std::int64_t out, std::int64_t in, std::int64_t rows, std::int64_t n) {
          std::fill_n(wide, n, bias != nullptr ? bias[channel] : C{0});
          kernels.correlate(padded + in, layout.distances(), w, g.taps(), wide, n);
          layout.narrow(wide, rows, to + out);
        });
      }
    }
  });
}

template <class T>
void depthwise_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                             const Tensor& dy, const Tensor& dx) {
  using C = Compute<T>;
  if (same3x3(g)) return correlate3x3<T>(pool, g, dy, weight, true, nullptr, dx);
  const Padded layout(g);
  const auto& kernels = simd::kernels().of<C>();
  const std::int64_t planes = g.batch * g.groups;
  const std::int64_t grain = plane_grain(g.c_out * g.out_size());
  // dx is the correlation of the widened dy, behind as many zeros as the kernel reaches over.
  const std::int64_t ahead = layout.reach();
  reserve<C>(pool, ahead + 2 * layout.elements(), dx);
  pool.run((planes + grain - 1) / grain, [&](std::int64_t piece) {
    const Tensor memory = scratch<C>(ahead + 2 * layout.elements(), dx);
    C* padded = memory.data<C>();
    C* wide = padded + layout.elements();
    std::fill_n(wide, ahead + layout.elements(), C{0});
    for (std::int64_t p = piece * grain; p < std::min(planes, (piece + 1) * grain); ++p) {
      std::fill_n(padded, layout.elements(), C{0});
      for (std::int64_t m = 0; m < g.c_out; ++m) {
        const C* w = weight.data<C>() + (p % g.groups * g.c_out + m) * g.taps();
        const T* from = dy.data<T>() + (p * g.c_out + m) * g.out_size();
        layout.for_runs([&](std::int64_t out, std::int64_t in, std::int64_t rows, std::int64_t) {
          layout.widen(from + out, rows, wide + ahead + in);
        });
        kernels.correlate(wide, layout.behind(), w, g.taps(), padded,
                          layout.elements() - simd::kSlack);
      }
      layout.store(padded, dx.data<T>() + p * g.in_size());
    }
  });
}

template <class T>
void depthwise_backward_weight(ThreadPool& pool, const ConvGeometry& g, const Tensor& x,
                               const Tensor& dy, const Tensor& dweight) {
  using C = Compute<T>;
  if (same3x3(g)) return correlate3x3_sums<T>(pool, g, x, dy, dweight);
  const Padded layout(g);
  const auto& kernels = simd::kernels().of<C>();
  const std::int64_t weights = g.c_out * g.taps();
  reserve<C>(pool, layout.elements() + layout.widest(), dweight);
  reserve<double>(pool, weights, dweight);
  // A piece sums a few channels, or one large one, over all items.
  const std::int64_t grain = plane_grain(g.batch * g.c_out * g.out_size());
  pool.run((g.groups + grain - 1) / grain, [&](std::int64_t piece) {
    const Tensor memory = scratch<C>(layout.elements() + layout.widest(), dweight);
    const Tensor sums = scratch<double>(weights, dweight);
    C* padded = memory.data<C>();
    C* wide = padded + layout.elements();
    std::fill_n(wide, layout.widest(), C{0});
    for (std::int64_t group = piece * grain; group < std::min(g.groups, (piece + 1) * grain);
         ++group) {
      std::fill_n(sums.data<double>(), weights, 0.0);
      for (std::int64_t item = 0; item < g.batch; ++item) {
        const std::int64_t p = item * g.groups + group;
        layout.load(x.data<T>() + p * g.in_size(), padded);
        for (std::int64_t m = 0; m < g.c_out; ++m) {
          const T* from = dy.data<T>() + (p * g.c_out + m) * g.out_size();
          double* sum = sums.data<double>() + m * g.taps();
          layout.for_runs(
              [&](std::int64_t out, std::int64_t in, std::int64_t rows, std::int64_t n) {
                // The last run may be shorter than the ones before it.
                std::fill(wide + n, wide + layout.widest(), C{0});
                layout.widen(from + out, rows, wide);
                kernels.correlate_sums(wide, padded + in, layout.distances(), g.taps(), sum, n);
              });
        }
      }
      C* to = dweight.data<C>() + group * weights;
      for (std::int64_t i = 0; i < weights; ++i) to[i] = static_cast<C>(sums.data<double>()[i]);
    }
  });
}

#define FOVEA_INSTANTIATE(T)                                                                  \
  template void depthwise_forward<T>(ThreadPool&, const ConvGeometry&, const Tensor&,         \
                                     const Tensor&, const Compute<T>*, const Tensor&);        \
  template void depthwise_backward_data<T>(ThreadPool&, const ConvGeometry&, const Tensor&,   \
                                           const Tensor&, const Tensor&);                     \
  template void depthwise_backward_weight<T>(ThreadPool&, const ConvGeometry&, const Tensor&, \
                                             const Tensor&, const Tensor&);
FOVEA_INSTANTIATE(float)
FOVEA_INSTANTIATE(double)
FOVEA_INSTANTIATE(BFloat16)
#undef FOVEA_INSTANTIATE

}  // namespace fovea::cpu
