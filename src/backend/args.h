// What the primitive kernels of backend.h are asked to do: operations by name, sizes and layouts.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace fovea {

enum class UnaryOp {
  kAffine,  // a x + b
  kExp,
  kLog,
  kLog1p,
  kExpm1,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kSquare,
  kPow,  // x^a
  kAbs,
  kSign,
  kClamp,  // min(max(x, a), b)
  kSin,
  kCos,
  kTanh,
  kSigmoid,
  kErf,
  kRelu,
  kGelu,      // x Phi(x), exact
  kGeluTanh,  // the tanh approximation
  kSilu,      // x sigmoid(x)
  kElu,       // x > 0 ? x : a (exp(x) - 1)
  kSoftplus,  // log(1 + exp(x))
  kIsFinite,  // uint8 output
};

enum class BinaryOp {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  // Comparisons write uint8.
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
};

enum class ReduceOp { kSum, kMean, kMax, kMin, kSumSquares };

struct UnaryParams {
  double a = 0;
  double b = 0;
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

/// log: log-softmax. causal: key j of query t is allowed if j <= t + (keys - queries).
struct SoftmaxArgs {
  bool log = false;
  bool causal = false;
};

/// Cross-correlation over 1 to 3 spatial axes. x: (b, c_in, spatial...), weight: (c_out, c_in /
/// groups, kernel...), y: (b, c_out, out...), out = (in + 2 padding - dilation (kernel - 1) - 1) /
/// stride + 1.
struct ConvArgs {
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups = 1;
};

/// Batch norm (groups = 0) and group norm, and what follows in the same pass over memory.
struct ChannelNormArgs {
  std::int64_t groups = 0;
  bool fixed_stats = false;  // mean and rstd are constants (evaluation mode of batch norm)
  bool relu = false;
};
/// (x - mean) rstd weight + bias; weight and bias (c) may be undefined.
struct ChannelNorm {
  Tensor mean, rstd, weight, bias;
};
/// Where gradients go; undefined: not wanted. That of the residual is dy where the ReLU let it
/// through.
struct ChannelNormGradients {
  Tensor x, weight, bias, residual;
};

/// One layer of attention whose values are a running sum of maps (kcla 2.9), all in (b, c, h, w):
///   y = x + keep act(norm(v)), or without x;  v = depthwise 3x3 convolution of u, zeros around it.
/// kernel (c, 9) is scaled for every plane; scale and keep (b c). keep may be undefined, which
/// is 1.
struct ValueNorm {
  Tensor u, kernel, scale;
  ChannelNorm norm;  // by channel
  Tensor keep;
  bool fixed_stats = false;  // mean and rstd are constants
  bool relu = false;
  bool add_x = true;
};
/// u is the gradient of ValueNorm::u, which is that of the sum before as well; if `adds`, it holds
/// what comes from later layers. w is the weight that x has in u, x takes part in y and in u. x may
/// be written over dy. Undefined (not u, kernel or scale): not wanted.
struct ValueNormGradients {
  Tensor u, w, x, kernel, scale, weight, bias;
  bool adds = false;
};

/// What a convolution reads: x, or where norm.mean (c) is defined the result of a batch norm of x
/// and what follows it, which the kernel makes again piece by piece.
struct ConvInput {
  Tensor x;
  ChannelNorm norm = {};
  Tensor residual = {};
  bool relu = false;
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

/// Where head h of item b at token t starts inside a tensor: b batch_stride + t token_stride +
/// head_offsets[h], in elements; the head's channels are contiguous. It lets the attention kernels
/// read a fused qkv projection, interleaved streams or grouped heads without a copy.
struct HeadLayout {
  std::int64_t batch_stride = 0;
  std::int64_t token_stride = 0;
  std::vector<std::int64_t> head_offsets;
  std::int64_t dim = 0;  // channels of one head
};

/// Softmax attention, one map per head, or two maps per head over one value stream.
struct AttentionArgs {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  HeadLayout q, k, v;  // for two maps: the excitatory or first stream
  HeadLayout q2, k2;   // the second stream
  double scale = 1;
  bool causal = false;
  bool add = true;  // backward adds to dq, dk, dv; false: it writes them, and the heads cover them
};

struct AdamWArgs {
  double lr = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  std::int64_t step = 1;  // counted from 1
};

struct SgdArgs {
  double lr = 0, momentum = 0, weight_decay = 0, dampening = 0;
  bool nesterov = false;
  bool first = false;  // the momentum buffer is being started
};

}  // namespace fovea
