// What the primitives of kernels.def are asked to do: operations by name, sizes and layouts.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tensor/tensor.h"

namespace fovea {

enum class UnaryOp {
#define FOVEA_UNARY(name) k##name,
#include "backend/operations.def"
};

enum class BinaryOp {
#define FOVEA_BINARY(name) k##name,
#include "backend/operations.def"
};

enum class ReduceOp {
#define FOVEA_REDUCE(name) k##name,
#include "backend/operations.def"
};

struct UnaryParams {
  double a = 0;
  double b = 0;
};

/// dx = dy f'(x); y = f(x) may be x where the derivative does not become cheaper with it.
struct UnaryBackwardArgs {
  UnaryOp op = UnaryOp::kAffine;
  UnaryParams params;
  Tensor x, y, dy;
  Tensor dx;
};

/// c[i] = op(a[i]) op(b[i]) (+ bias on every row) for i < batch.
/// op(a) is (m, k), op(b) is (k, n), c is (m, n); ld is the distance between rows as stored, stride
/// the distance between batch items, all in elements. A stride of 0 shares an operand.
struct GemmArgs {
  bool trans_a = false, trans_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
};

/// A copy between strided views: for every index i of `shape`,
///   dst[dst_offset + i . dst_strides] (+)= src[src_offset + i . src_strides].
/// Destination elements must be distinct unless a dst stride is 0 and `accumulate` is set.
struct CopyArgs {
  Shape shape;
  std::int64_t src_offset = 0, dst_offset = 0;
  std::vector<std::int64_t> src_strides, dst_strides;  // may be negative
  bool accumulate = false;
};

/// Cross-correlation over 1 to 3 spatial axes. x: (b, c_in, spatial...), weight: (c_out, c_in /
/// groups, kernel...), y: (b, c_out, out...), out = (in + 2 padding - dilation (kernel - 1) - 1) /
/// stride + 1.
struct ConvArgs {
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups = 1;
};

enum class PoolKind { kMax, kAverage };

/// Windows over the spatial axes of x (b, c, spatial...). Adaptive: window i covers
/// [floor(i in / out), ceil((i + 1) in / out)), kernel, stride and padding are ignored.
struct PoolArgs {
  PoolKind kind = PoolKind::kMax;
  std::vector<std::int64_t> kernel, stride, padding;
  bool count_include_pad = true;
  bool adaptive = false;
};

enum class ResizeMode { kNearest, kLinear };

/// Linear is bilinear or trilinear by rank. Without align_corners source = (dst + 0.5) in / out -
/// 0.5, clamped; nearest takes floor(dst in / out), as PyTorch does.
struct ResizeArgs {
  ResizeMode mode = ResizeMode::kLinear;
  bool align_corners = false;
};

/// Redrawn while outside [low, high].
struct NormalArgs {
  double mean = 0, stddev = 1;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

}  // namespace fovea
