// 3x3 depthwise convolution of one plane, for conv_depthwise.cpp and value_norm.cpp; part of
// kernels_impl.h. The loops go down a strip of one vector's columns: every row is loaded three
// times, a column apart, and all nine taps are applied to it at once.
#pragma once

#include "backend/cpu/simd/batch_impl.h"

namespace fovea::cpu::simd {
namespace {

// A row of a strip, and the same seen from a column to the right and to the left.
template <class T>
struct Shifted {
  xsimd::batch<T> left, here, right;
};

// The columns from `first` on of planes `width` wide. Lanes behind the plane hold what comes next
// in memory.
template <class T>
class Strip {
  using B = xsimd::batch<T>;

 public:
  Strip(std::int64_t first, std::int64_t width) : first_(first) {
    alignas(64) T column[kLanes<T>];
    for (std::int64_t i = 0; i < kLanes<T>; ++i) column[i] = static_cast<T>(first + i);
    const B columns = B::load_aligned(column);
    has_left_ = columns > B(T{0});
    inside_ = columns < B(static_cast<T>(width));
    has_right_ = columns < B(static_cast<T>(width - 1));
  }
  Shifted<T> shifted(const T* row) const {
    const B zero(T{0});
    const T* at = row + first_;
    return {xsimd::select(has_left_, B::load_unaligned(at - 1), zero), B::load_unaligned(at),
            xsimd::select(has_right_, B::load_unaligned(at + 1), zero)};
  }
  // With zeros behind the plane.
  B inside(const T* row) const {
    return xsimd::select(inside_, B::load_unaligned(row + first_), B(T{0}));
  }
  Shifted<T> shifted_inside(const T* row) const {
    Shifted<T> row_here = shifted(row);
    row_here.here = inside(row);
    return row_here;
  }
  void store(const B& batch, T* row) const { batch.store_unaligned(row + first_); }

 private:
  std::int64_t first_;
  xsimd::batch_bool<T> has_left_, inside_, has_right_;
};

// The strips of a plane, the last one first: what a strip writes behind a row is then overwritten.
template <class T, class Visit>
inline void for_strips(std::int64_t width, Visit visit) {
  for (std::int64_t first = (width - 1) / kLanes<T> * kLanes<T>; first >= 0; first -= kLanes<T>)
    visit(Strip<T>(first, width));
}

template <class T>
inline xsimd::batch<T> under(const Shifted<T>& row, const xsimd::batch<T>* taps,
                             xsimd::batch<T> sum) {
  sum = xsimd::fma(row.left, taps[0], sum);
  sum = xsimd::fma(row.here, taps[1], sum);
  return xsimd::fma(row.right, taps[2], sum);
}

template <class T>
void conv3x3(const T* x, std::int64_t height, std::int64_t width, const T* kernel, bool reversed,
             T* y) {
  using B = xsimd::batch<T>;
  B taps[9];
  for (int i = 0; i < 9; ++i) taps[i] = B(kernel[reversed ? 8 - i : i]);
  for_strips<T>(width, [&](const Strip<T>& strip) {
    const B zero(T{0});
    Shifted<T> row = strip.shifted(x);
    // Results of this row and of the next one, as far as they are known.
    B here = under<T>(row, taps + 3, zero);
    B below = under<T>(row, taps, zero);
    for (std::int64_t r = 1; r < height; ++r) {
      row = strip.shifted(x + r * width);
      strip.store(under<T>(row, taps + 6, here), y + (r - 1) * width);
      here = under<T>(row, taps + 3, below);
      below = under<T>(row, taps, zero);
    }
    strip.store(here, y + (height - 1) * width);
  });
}

// sums[tap] of dy x, three taps of one row of the kernel.
template <class T>
inline void meet(const Shifted<T>& row, const xsimd::batch<T>& dy, xsimd::batch<T>* sums) {
  sums[0] = xsimd::fma(row.left, dy, sums[0]);
  sums[1] = xsimd::fma(row.here, dy, sums[1]);
  sums[2] = xsimd::fma(row.right, dy, sums[2]);
}

// Rows [begin, end) of x in one strip; sums stay in registers.
template <class T>
inline void strip_sums(const Strip<T>& strip, const T* x, const T* dy, std::int64_t begin,
                       std::int64_t end, std::int64_t height, std::int64_t width, double* sums) {
  using B = xsimd::batch<T>;
  const B zero(T{0});
  B parts[9];
  for (int i = 0; i < 9; ++i) parts[i] = zero;
  B above = begin > 0 ? strip.inside(dy + (begin - 1) * width) : zero;
  B here = strip.inside(dy + begin * width);
  for (std::int64_t r = begin; r < end; ++r) {
    const B below = r + 1 < height ? strip.inside(dy + (r + 1) * width) : zero;
    const Shifted<T> row = strip.shifted_inside(x + r * width);
    meet<T>(row, below, parts);
    meet<T>(row, here, parts + 3);
    meet<T>(row, above, parts + 6);
    above = here;
    here = below;
  }
  for (int i = 0; i < 9; ++i) sums[i] += static_cast<double>(horizontal_sum<T>(parts[i]));
}

template <class T>
void conv3x3_sums(const T* x, const T* dy, std::int64_t height, std::int64_t width, double* sums) {
  constexpr std::int64_t kStretch = 128;  // rows that a lane adds up in T, before float64
  for_strips<T>(width, [&](const Strip<T>& strip) {
    for (std::int64_t r = 0; r < height; r += kStretch) {
      const std::int64_t end = height - r < kStretch ? height : r + kStretch;
      strip_sums<T>(strip, x, dy, r, end, height, width, sums);
    }
  });
}

}  // namespace
}  // namespace fovea::cpu::simd
