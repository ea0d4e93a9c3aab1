// Inner loops over contiguous memory, compiled once per instruction set (SSE2, AVX2 + FMA, AVX-512)
// from one source, kernels_impl.h, and chosen when the program starts.
#pragma once

#include <cstdint>
#include <span>

#include "backend/backend.h"

namespace fovea::cpu::simd {

/// Elements of the widest vector.
inline constexpr std::int64_t kSlack = 16;

/// True for parts of a result that are better written past the caches: no cache holds the `bytes`
/// that are read and written for it, so reading its lines in first would be wasted (measured: a
/// core writes twice as fast without). Parts start at `start` and are `apart` bytes from each
/// other, `part` bytes each: whole lines.
inline bool goes_past_caches(std::int64_t bytes, const void* start, std::int64_t apart,
                             std::int64_t part) {
  constexpr std::int64_t kLarge = 32 << 20, kLine = 64;
  return bytes >= kLarge && reinterpret_cast<std::uintptr_t>(start) % kLine == 0 &&
         apart % kLine == 0 && part % kLine == 0;
}

/// What of a product a triangle makes superfluous: nothing; results above the diagonal, which may
/// or may not be written; or terms with elements of a above, or below, the diagonal, which must be
/// zeros.
enum class Omitted { kNothing, kResultsAbove, kTermsAbove, kTermsBelow };

/// Memory to be fetched into the caches while something is computed: `rows` stretches of `bytes`,
/// `apart` bytes from each other, or `offset` bytes behind the addresses `starts`.
struct Ahead {
  const void* x = nullptr;
  std::int64_t rows = 0, bytes = 0, apart = 0;
  const void* const* starts = nullptr;
  std::int64_t offset = 0;
};

/// c (m, n) = alpha a b, or c += alpha a b. a (m, k) and b (k, n) may have any strides, so either
/// may be stored transposed; rows of c are ldc elements apart. Meant for operands that fit into the
/// second-level cache; the columns of b are better next to each other. S: how c is stored; to one
/// of fewer bits than T nothing is added.
template <class T, class S = T>
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  T alpha = 1;
  const T* a = nullptr;
  std::int64_t a_row = 0, a_column = 1;
  const T* b = nullptr;
  std::int64_t b_row = 0, b_column = 1;
  S* c = nullptr;
  std::int64_t ldc = 0;
  bool accumulate = false;
  Omitted omitted = Omitted::kNothing;
  const T* bias = nullptr;  // added unless c is: (n) to every row, or rows bias_row apart
  std::int64_t bias_row = 0;
  std::span<const Ahead> ahead = {};  // of packed_product
};

/// Terms of a product that are added up in registers: c takes in one such sum after the other, so
/// an element is the same number for any m and n, however the product is cut along these.
inline constexpr std::int64_t kPanelDepth = 256;
/// Rows and columns are packed in groups whose sizes divide these; packed rows have kSlack elements
/// behind them too.
inline constexpr std::int64_t kPackedRows = 12, kPackedColumns = 2 * kSlack;

/// Positions of a convolution that lie next to each other: where the first one's input begins, and
/// where its result is.
struct ConvLine {
  std::int64_t x = 0, y = 0;
};
/// A part of a convolution: the sum over `terms` <= kPanelDepth of a weight and the element of x so
/// far behind a position's own, for `count` lines of `width` positions.
template <class T>
struct ConvLines {
  std::int64_t count = 0, width = 0, terms = 0;
  const ConvLine* lines = nullptr;
  const std::int64_t* distances = nullptr;
  const T* x = nullptr;
};

/// Planes of batch or group norm that lie next to each other: (x - mean) scale + shift, plus the
/// residual if there is one, and a ReLU if asked for. mean, scale and shift have one element a
/// plane. In backward the ReLU is open where y is positive, or without y where the sum is.
template <class S>
struct NormPlanes {
  std::int64_t count = 0, size = 0;
  const S* x = nullptr;
  const Compute<S>*mean = nullptr, *scale = nullptr, *shift = nullptr;
  const S* residual = nullptr;
  const S* y = nullptr;
  bool relu = false;
  bool past_caches = false;  // of results, see goes_past_caches()
};

/// Rows of n under a norm: y = (x - mean) rstd weight + bias, where 1 / rstd^2 is the mean of
/// (x - mean)^2, plus eps. mean is null for RMS norm, which takes it as 0; weight and bias may be
/// null.
template <class S>
struct NormRows {
  std::int64_t rows = 0, n = 0;
  Compute<S> eps = 0;
  const S* x = nullptr;
  const Compute<S>*weight = nullptr, *bias = nullptr;
  S* y = nullptr;
  Compute<S>*mean = nullptr, *rstd = nullptr;  // one for each row
};

/// Backward of these rows. Adds to dweight and dbias; these, dx and weight may be null.
template <class S>
struct NormRowsBackward {
  std::int64_t rows = 0, n = 0;
  const S* x = nullptr;
  const Compute<S>*weight = nullptr, *mean = nullptr, *rstd = nullptr;
  const S* dy = nullptr;
  S* dx = nullptr;
  Compute<S>*dweight = nullptr, *dbias = nullptr;
};

/// Rows of a token grid under a depthwise kernel, for one row of results; an element holds the
/// `channels` of a token. rows: kernel_h pointers to `places` tokens as pack_tokens() leaves them,
/// null outside the grid; the first of `tokens` results begins at the first place. What the next
/// row reads and writes is fetched meanwhile.
template <class T>
struct TokenRows {
  const T* const* rows = nullptr;
  std::int64_t tokens = 0, places = 0, channels = 0, kernel_h = 1, kernel_w = 1;
  Ahead reads = {}, writes = {};
};

/// Results of linear attention's heads, rows of n: x -> act(gate) (x / rms(x) weight + residual).
/// Without a weight there is no norm, without a gate no gate, without a residual none.
template <class S>
struct FinishedRows {
  std::int64_t rows = 0, n = 0;
  const Compute<S>* weight = nullptr;
  Compute<S> eps = 0;  // of the norm
  const S* residual = nullptr;
  std::int64_t residual_ld = 0;
  const S* gate = nullptr;
  std::int64_t gate_ld = 0;
  UnaryOp op = UnaryOp::kSilu;  // or kSigmoid, or kAffine: the gate itself
};
/// Gradients of residual, gate and weight; null: not wanted.
template <class C>
struct FinishedGradients {
  C *residual = nullptr, *gate = nullptr;  // (rows, n)
  C* weight = nullptr;                     // (n), to be added to
};

/// Pixels next to each other of maps of logits, one a class, `plane` elements apart, and their
/// classes.
template <class S>
struct RegionPixels {
  bool sigmoid = false;
  std::int64_t classes = 0, pixels = 0, plane = 0;
  const S* logits = nullptr;
  const std::int64_t* target = nullptr;
  std::int64_t ignore_index = 0;
};
/// Gradients of an item's sums (RegionSumsBackwardArgs): one a class, and one.
template <class C>
struct RegionSlopes {
  const C *both = nullptr, *sums = nullptr, *squares = nullptr;
  C surprise = 0;
};

/// Rows of bins of RoIAlign that are added up side by side.
inline constexpr std::int64_t kRoiRows = 8;
/// The pixels [first, first + count) of an axis that a bin of RoIAlign reads, with their weights.
template <class C>
struct RoiBin {
  std::int64_t first = 0, count = 0;
  const C* weights = nullptr;
};
/// The bins of a box in planes of rows `stride` elements apart: of each row and of each column of
/// the result. All bins across lie within `columns` columns from first_column on.
template <class C>
struct RoiReads {
  std::int64_t height = 0, width = 0, stride = 0, first_column = 0, columns = 0;
  const RoiBin<C>*rows = nullptr, *across = nullptr;
};

/// What a pass over memory does: the same copy and write again past the caches.
enum class Pass { kRead, kWrite, kCopy, kStreamWrite, kStreamCopy };

/// Loops for values stored as S: float, double, or BFloat16 with everything computed, and all
/// parameters and scalars, in float. Sums and maxima run in a fixed order that depends on the
/// instruction set and on n alone.
template <class S>
struct Maps {
  using C = Compute<S>;
#define FOVEA_LOOP(result, name, parameters) result(*name) parameters;
#include "backend/cpu/simd/stored_loops.def"
};

/// The same for values of the type they are computed in, and loops for these alone.
template <class S>
struct Kernels {
  using C = S;
  using T = S;
#define FOVEA_LOOP(result, name, parameters) result(*name) parameters;
#include "backend/cpu/simd/stored_loops.def"
#define FOVEA_LOOP(result, name, parameters) result(*name) parameters;
#include "backend/cpu/simd/compute_loops.def"
};

struct Table {
  const char* name;
  std::int64_t vector_bytes;
  Kernels<float> f32;
  Kernels<double> f64;
  Maps<BFloat16> bf16;

  /// Elements of a vector of this type.
  template <class T>
  std::int64_t lanes() const {
    return vector_bytes / static_cast<std::int64_t>(sizeof(T));
  }
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
