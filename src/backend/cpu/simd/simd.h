// Inner loops over contiguous memory, compiled once per instruction set (SSE2, AVX2 + FMA, AVX-512)
// from one source, kernels_impl.h, and chosen when the program starts.
#pragma once

#include <cstdint>

#include "backend/backend.h"

namespace fovea::cpu::simd {

/// Elements of the widest vector.
inline constexpr std::int64_t kSlack = 16;

/// c (m, n) = alpha a b, or c += alpha a b. a (m, k) and b (k, n) may have any strides, so either
/// may be stored transposed; rows of c are ldc elements apart. Meant for operands that fit into the
/// second-level cache; the columns of b are better next to each other.
template <class T>
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  T alpha = 1;
  const T* a = nullptr;
  std::int64_t a_row = 0, a_column = 1;
  const T* b = nullptr;
  std::int64_t b_row = 0, b_column = 1;
  T* c = nullptr;
  std::int64_t ldc = 0;
  bool accumulate = false;
};

/// Planes of batch or group norm that lie next to each other: (x - mean) scale + shift, plus the
/// residual if there is one, and a ReLU if asked for. mean, scale and shift have one element a
/// plane. Backward opens the ReLU where y is positive, or without a y where the sum would be.
template <class S>
struct NormPlanes {
  std::int64_t count = 0, size = 0;
  const S* x = nullptr;
  const Compute<S>*mean = nullptr, *scale = nullptr, *shift = nullptr;
  const S* residual = nullptr;
  const S* y = nullptr;
  bool relu = false;
};

/// Rows of a token grid under a depthwise kernel, for one row of results; an element holds the
/// `channels` of a token. rows: kernel_h pointers to `tokens` tokens each, null outside the grid.
template <class S>
struct TokenRows {
  const S* const* rows = nullptr;
  std::int64_t tokens = 0, channels = 0, kernel_h = 1, kernel_w = 1;
};

/// Kernels for values stored as S: float, double, or BFloat16 with everything computed, and all
/// parameters and scalars, in float. Sums and maxima run in a fixed order that depends on the
/// instruction set and on n alone.
template <class S>
struct Maps {
  using C = Compute<S>;
  void (*unary)(UnaryOp, double a, double b, const S* x, S* y, std::int64_t n);
  void (*unary_backward)(UnaryOp, double a, double b, const S* x, const S* y, const S* dy, S* dx,
                         std::int64_t n);
  // Arithmetic only. A step of 0 repeats the first element.
  void (*binary)(BinaryOp, const S* a, std::int64_t step_a, const S* b, std::int64_t step_b, S* y,
                 std::int64_t n);
  void (*axpy)(C alpha, const S* x, S* y, std::int64_t n);
  /// As axpy, with the sum kept in the compute type.
  void (*accumulate)(C alpha, const S* x, C* y, std::int64_t n);
  void (*gated)(UnaryOp, const S* x, const S* other, S* y, std::int64_t n);
  void (*gated_backward)(UnaryOp, const S* x, const S* other, const S* dy, S* dx, S* dother,
                         std::int64_t n);
  C (*sum)(const S* x, std::int64_t n);
  C (*dot)(const S* x, const S* y, std::int64_t n);
  /// y = (x - mean) rstd weight + bias; weight and bias may be null.
  void (*normalise)(const S* x, C mean, C rstd, const C* weight, const C* bias, S* y,
                    std::int64_t n);
  /// sum of (x - mean)^2.
  C (*centred_squares)(const S* x, C mean, std::int64_t n);
  /// Backward of one normalised row; `centred` is layer norm, otherwise RMS norm. Adds to dweight
  /// and dbias where they are not null.
  void (*normalise_backward)(bool centred, const S* x, C mean, C rstd, const C* weight, const S* dy,
                             S* dx, C* dweight, C* dbias, std::int64_t n);
  /// Elements first..first+n of the stream: y = u < p ? 0 : x scale.
  void (*dropout)(std::uint64_t key, std::uint64_t first, C p, C scale, const S* x, S* y,
                  std::int64_t n);
  /// Rows of a tensor, ldx elements apart, to y (rows, n).
  void (*take_rows)(const S* x, std::int64_t ldx, C* y, std::int64_t rows, std::int64_t n);
  /// The same transposed: y (n, ldy) with zeros behind column `rows`. ldy is a multiple of kSlack.
  void (*take_columns)(const S* x, std::int64_t ldx, C* y, std::int64_t ldy, std::int64_t rows,
                       std::int64_t n);
  /// scale x (rows, n) to, or added to, rows of a tensor.
  void (*put_rows)(C scale, const C* x, bool add, S* y, std::int64_t ldy, std::int64_t rows,
                   std::int64_t n);
  /// Mean and sum of (x - mean)^2 of every plane.
  void (*plane_moments)(const S* x, std::int64_t planes, std::int64_t size, double* means,
                        double* squares);
  void (*plane_normalise)(const NormPlanes<S>&, S* y);
  /// dz = dy, or 0 where the ReLU is closed. sums and products are those of dz and of dz (x -
  /// mean). dz may be null or dy itself.
  void (*plane_gradient_sums)(const NormPlanes<S>&, const S* dy, S* dz, double* sums,
                              double* products);
  /// dx = scale dz + by_x (x - mean) + constant, dz as above; dx may be dy itself.
  void (*plane_gradient)(const NormPlanes<S>&, const S* dy, const C* by_x, const C* constant,
                         S* dx);
  /// One row of results, y (tokens, channels); weight (kernel_h, kernel_w, channels), bias
  /// (channels) or null. kernel_w is odd and zeros surround the grid.
  void (*token_row)(const TokenRows<S>&, const C* weight, const C* bias, S* y);
  /// Adds the gradients of the weight and, behind them, of the bias that come from one row of
  /// results: sums (kernel_h kernel_w + 1, channels).
  void (*token_row_sums)(const TokenRows<S>&, const S* dy, C* sums);
  /// Between how values are stored and how they are computed.
  void (*widen)(const S* x, C* y, std::int64_t n);
  void (*narrow)(const C* x, S* y, std::int64_t n);
};

template <class T>
struct Kernels : Maps<T> {
  /// Of numbers. What comes out of a NaN among them is not defined: a sum shows it.
  T (*max)(const T* x, std::int64_t n);
  /// The largest or smallest element; NaN if there is one. n is at least 1.
  T (*extremum)(bool largest, const T* x, std::int64_t n);
  /// Largest |x| of rows of n elements, ld apart; NaN if not all are finite.
  T (*largest)(const T* x, std::int64_t ld, std::int64_t rows, std::int64_t n);
  /// y = exp(x - shift), returns the sum of y. y may be null: not wanted.
  T (*exp_sum)(const T* x, T shift, T* y, std::int64_t n);
  /// dx = scale y (dy - shift): backward of a softmax row.
  void (*softmax_backward)(T scale, const T* y, const T* dy, T shift, T* dx, std::int64_t n);
  /// a = c1 p1 + c2 p2.
  void (*combine)(T c1, const T* p1, T c2, const T* p2, T* a, std::int64_t n);
  // Rows of attention maps, n elements each, next to each other; n is a multiple of kSlack.
  /// Scores -> exp(score - top) in place, with the sum and the log-sum-exp of each row. A row of
  /// nothing but -inf becomes zeros, with a sum of 1.
  void (*softmax_rows)(T* map, std::int64_t rows, std::int64_t n, T* sums, T* lse);
  /// Scores -> exp(score - lse) in place.
  void (*probability_rows)(T* map, std::int64_t rows, std::int64_t n, const T* lse);
  /// to = c1 map1 + c2 map2, c1 and c2 of each row; `to` may be one of the maps.
  void (*combine_rows)(const T* c1, const T* map1, const T* c2, const T* map2, T* to,
                       std::int64_t rows, std::int64_t n);
  /// Backward of a softmax in place: c map (upstream - dot), dot = map . upstream of each row, and
  /// c of each row, or 1 without.
  void (*score_gradient_rows)(const T* c, const T* upstream, T* map, std::int64_t rows,
                              std::int64_t n, T* dots);
  void (*product)(const Product<T>&);
  /// correction = 1 - beta^step.
  void (*adamw)(const AdamWArgs&, double correction1, double correction2, const T* g, T* p, T* m,
                T* v, std::int64_t n);
  /// y[i] += sum over taps of w[tap] x[i + distances[tap]]. Reads and writes up to the next
  /// multiple of kSlack elements.
  void (*correlate)(const T* x, const std::int64_t* distances, const T* w, std::int64_t taps, T* y,
                    std::int64_t n);
  /// sums[tap] += sum over i of g[i] x[i + distances[tap]]. Reads up to the next multiple of kSlack
  /// elements, where g must be zero and x finite.
  void (*correlate_sums)(const T* g, const T* x, const std::int64_t* distances, std::int64_t taps,
                         double* sums, std::int64_t n);
  // 3x3 windows around every element of a plane (height, width), zeros around it. From kSlack
  // elements before the plane to kSlack behind it, memory can be read, and holds finite numbers.
  /// y = the correlation of x with `kernel` (9), or with its reverse. y may be written up to kSlack
  /// elements behind its end, and is not x.
  void (*conv3x3)(const T* x, std::int64_t height, std::int64_t width, const T* kernel,
                  bool reversed, T* y);
  /// sums (9) += gradient of the kernel.
  void (*conv3x3_sums)(const T* x, const T* dy, std::int64_t height, std::int64_t width,
                       double* sums);
};

struct Table {
  const char* name;
  Kernels<float> f32;
  Kernels<double> f64;
  Maps<BFloat16> bf16;

  template <class S>
  const auto& of() const {
    if constexpr (std::is_same_v<S, BFloat16>) {
      return bf16;
    } else if constexpr (std::is_same_v<S, float>) {
      return f32;
    } else {
      return f64;
    }
  }
};

/// The widest set this processor runs; FOVEA_SIMD=sse2|avx2|avx512 in the environment lowers it
/// (avx512: without the tile registers of amx.h).
const Table& kernels();

Table sse2_kernels();
Table avx2_kernels();
Table avx512_kernels();
/// Those of avx512_kernels() for processors with AVX-512 BF16.
Maps<BFloat16> avx512_bfloat16_kernels();

}  // namespace fovea::cpu::simd
