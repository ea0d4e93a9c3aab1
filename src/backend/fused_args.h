// Arguments of the fused kernels of kernels.def. In structs that hold a whole call, outputs follow
// inputs; gradients that are undefined are not wanted.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/args.h"

namespace fovea {

/// The function is applied to the first half of the last axis, or to the last one, or, where the
/// halves are two tensors, to the first.
struct GatedArgs {
  UnaryOp op = UnaryOp::kSilu;
  bool gate_last = false;
};

/// y = keep(i / block) x / (1 - p): block j is kept where draw j of the stream `key` is not below
/// p; block > 1 drops whole runs of elements (drop path). x has a whole number of blocks.
struct DropoutArgs {
  std::uint64_t key = 0;
  double p = 0;
  std::int64_t block = 1;
};

/// log: log-softmax. causal: key j of query t is allowed if j <= t + (keys - queries).
struct SoftmaxArgs {
  bool log = false;
  bool causal = false;
};

/// Over the last axis; mean and rstd have one element a row. weight and bias may be undefined.
struct LayerNormArgs {
  double eps = 0;
  Tensor x, weight = {}, bias = {};
  Tensor y, mean, rstd;
};
struct LayerNormBackwardArgs {
  Tensor x, weight = {}, mean = {}, rstd, dy;
  Tensor dx = {}, dweight = {}, dbias = {};
};

/// Over the last axis; rstd has one element a row. weight may be undefined.
struct RmsNormArgs {
  double eps = 0;
  Tensor x, weight = {};
  Tensor y, rstd;
};
struct RmsNormBackwardArgs {
  Tensor x, weight = {}, rstd, dy;
  Tensor dx = {}, dweight = {};
};

/// x: (b, c, spatial...). groups = 0: statistics per channel over batch and space (batch norm),
/// mean and rstd are (c); else per item and group (group norm), mean and rstd are (b, groups).
struct ChannelStatsArgs {
  std::int64_t groups = 0;
  double eps = 0;
  Tensor x;
  Tensor mean, rstd;
};

/// (x - mean) rstd weight + bias; weight and bias (c) may be undefined.
struct ChannelNorm {
  Tensor mean, rstd, weight = {}, bias = {};
};

/// A batch norm (groups = 0) or group norm of x, and what follows in the same pass over memory:
/// norm(x) + residual, then a ReLU if asked for. residual is undefined or like x.
struct NormedMap {
  Tensor x;
  ChannelNorm norm = {};
  Tensor residual = {};
  bool relu = false;
  std::int64_t groups = 0;
  bool fixed_stats = false;  // mean and rstd are constants (evaluation mode of batch norm)
};

/// Where gradients go. That of the residual is dy where the ReLU is open, else 0.
struct ChannelNormGradients {
  Tensor x = {}, weight = {}, bias = {}, residual = {};
};
/// For a ReLU behind a residual y or of.residual is needed, else neither. The gradient of x or of
/// the residual may be written over dy.
struct ChannelNormBackwardArgs {
  NormedMap of;
  Tensor y = {}, dy;
  ChannelNormGradients to;
};

/// x, y (b, h, w, c) or (b, d, h, w, c), weight (c, 1, kernel_h, kernel_w) or (c, 1, kernel_d,
/// kernel_h, kernel_w) with odd sizes, stride 1, zeros around the grid; bias (c) may be undefined.
/// residual: x itself is added to the result.
struct TokenConvArgs {
  bool residual = false;
  Tensor x, weight, bias = {};
  Tensor y;
};
struct TokenConvBackwardArgs {
  bool residual = false;
  Tensor x, weight, dy;
  Tensor dx = {}, dweight = {}, dbias = {};
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

/// One map a head, or two maps a head over one value stream:
///   out = softmax(q k^T) v, or (c1 softmax(q k^T) + c2 softmax(q2 k2^T)) v
/// with one coefficient per query and head. Covers DIFF (1, -lambda) and M-DGSA (g, g - 1).
struct AttentionArgs {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  HeadLayout q, k, v;  // for two maps: the excitatory or first stream
  HeadLayout q2, k2;   // the second stream, or no offsets
  double scale = 1;
  bool causal = false;
  bool add = true;  // backward adds to dq, dk, dv; false: it writes them, and the heads cover them

  bool two_maps() const { return !q2.head_offsets.empty(); }
  /// True where a map is larger than what a kernel has of it at a time (the host's blocks).
  bool is_long() const { return keys > kBlockKeys; }
  static constexpr std::int64_t kBlockKeys = 224;
};

/// Both streams live in q and k. mask: (batch, keys) uint8 or undefined. Of two maps c1, c2:
/// (batch, queries, heads).
struct AttentionInputs {
  Tensor q, k, v, mask = {};
  Tensor c1 = {}, c2 = {};
};
/// map_results: of two maps what each alone gives, (2, batch, queries, heads v.dim); see
/// Backend::keeps_map_results().
struct AttentionResults {
  Tensor out, lse, map_results = {};
};
/// map_results spares a kernel the sums of the upstream gradient over all keys; of one map it is
/// the result itself. It may be undefined.
struct AttentionUpstream {
  Tensor lse, dout, map_results = {};
};
/// Laid out as what they are gradients of; q, k and v may be one tensor. See AttentionArgs::add.
struct AttentionGradients {
  Tensor q = {}, k = {}, v = {};
  Tensor c1 = {}, c2 = {};
};

/// Softmax attention inside units of tokens (ops/attention/units.h), of which a table says which
/// token stands at which place:
///   out = softmax(scale q k^T + bias + masks) v   among the members of each unit.
/// No two heads share channels.
struct UnitAttentionArgs {
  std::int64_t batch = 0, heads = 0, tokens = 0, units = 0, members = 0;
  HeadLayout q, k, v;
  double scale = 1;
  double region_mask = 0;  // added to the scores between different regions
  bool padding_attends = false;
};
/// table (units, members) int64: every token once, -1 = padding; regions like it, or undefined.
/// bias (heads, members, members), a parameter. padding: what k and v, one tensor then, hold at a
/// place of padding, where that attends; undefined is zeros.
struct UnitAttentionInputs {
  Tensor q, k, v, table, regions = {}, bias = {}, padding = {};
};
/// Laid out as what they are gradients of; q, k and v may be one tensor. All are written, of q, k
/// and v the channels of heads.
struct UnitAttentionGradients {
  Tensor q = {}, k = {}, v = {}, bias = {}, padding = {};
};

/// The feature map phi of linear attention.
enum class FeatureMap {
  kNone,        // phi(x) = x
  kEluPlusOne,  // phi(x) = elu(x) + 1: x + 1 above 0, else exp(x)
  kRelu,
  kExp,
};

/// Weights of values that grow with a query's magnitude (mala 3.2, 3.3), instead of similarities
/// over their sum:
///   beta_i c <Q_i, K_j> - gamma_i,   c = scale, or scale / keys,   z_i = c <Q_i, s>,
///   beta_i = 1 + 1 / (z_i + eps), or 1;   gamma_i = z_i / keys, or 1.
struct MagnitudeArgs {
  bool on = false;
  double scale = 1;
  bool over_keys = false;          // c = scale / keys
  bool beta = true;                // by its formula
  bool gamma = true;               // by its formula
  bool sums_at_least_eps = false;  // z_i = max(z_i, eps), for features that may be negative
};

/// Linear attention with one map a head, or two maps a head over one value stream (gdla 2.3, 2.4):
///   y = (Q S) / (Q . s + eps),  S = K^T v,  s = the sum of the rows of K,  Q = phi(q), K = phi(k)
///   or y - lambda y2 with one lambda per head and channel, or by magnitude, of one map:
///   y = beta c Q S - gamma u,   u = the sum of the rows of v.
/// With rotary positions Q and K are rotated where they meet, not in s.
/// The results of heads may go through an RMS norm (with norm_eps and a weight), a residual sum,
/// and a product with a function of a gate, in this order. No two heads share channels.
struct LinearAttentionArgs {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  HeadLayout q, k, v;
  HeadLayout q2, k2;  // the second stream, or no offsets
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  MagnitudeArgs magnitude = {};
  double eps = 1e-6;
  bool causal = false;  // keys j <= i of query i, and i + 1 instead of their number; one map
  double norm_eps = 1e-5;
  HeadLayout residual;               // one for every query, as wide as v; or no offsets
  HeadLayout gate;                   // the same
  UnaryOp gate_op = UnaryOp::kSilu;  // or kSigmoid, or kAffine: the gate itself
  bool add = true;  // backward adds to the gradients of what heads view; false: it writes them, and
                    // the heads cover them

  bool two_maps() const { return !q2.head_offsets.empty(); }
};

/// Both streams live in q and k. Of two maps lambda: (heads, v.dim), a parameter; of a norm weight:
/// (v.dim), shared by the heads. mask: (batch, keys) uint8, 0 = a token that gives nothing and,
/// where queries are as many as keys, has the result 0 before norm and gate; not where causal.
/// cos, sin: (tokens, q.dim / 2), the angles of rotary positions (RotateArgs), or undefined; not
/// of two maps. By magnitude beta, gamma: (heads, v.dim), parameters that multiply beta_i and
/// gamma_i, or undefined: 1, and 0 for a gamma that is not by its formula; not where causal.
struct LinearAttentionInputs {
  Tensor q, k, v, lambda = {}, weight = {}, gate = {};
  Tensor residual = {}, mask = {}, cos = {}, sin = {}, beta = {}, gamma = {};
};
/// The sums over the keys that forward leaves: S (batch, heads, depth, v.dim) with the depth of all
/// maps, s (batch, heads, depth), u (batch, heads, v.dim); in the compute type.
struct LinearAttentionSums {
  Tensor products, keys, values;
};
struct LinearAttentionUpstream {
  LinearAttentionSums sums;
  Tensor dout;
};
/// Laid out as what they are gradients of; q, k, v, the residual and the gate may be one tensor.
struct LinearAttentionGradients {
  Tensor q = {}, k = {}, v = {}, lambda = {}, weight = {}, gate = {};
  Tensor residual = {}, beta = {}, gamma = {};
};

/// Rotary positions: pair i of every head of token t, (x[2i], x[2i + 1]) = (a, b), becomes
/// (a cos - b sin, a sin + b cos) with cos and sin (n, pairs of a head) at (t, i); `back` turns the
/// other way. x, y: (b, n, heads * 2 pairs); y may be x.
struct RotateArgs {
  bool back = false;
  Tensor x, cos, sin;
  Tensor y;
};

/// RoIAlign (He et al., "Mask R-CNN", ICCV 2017) with half a pixel taken off (torchvision's
/// `aligned`): of box i = (number of the item of x, x1, y1, x2, y2) in x (b, c, h, w) the means
/// over bins, in row rows[i] of y (..., c, height, width). A coordinate times `scale` less 0.5 is a
/// place of the map; a bin has sampling_ratio samples along an axis, or with 0 as many as pixels,
/// rounded up. A sample is interpolated between four pixels, held to the edge up to one pixel
/// outside, and 0 beyond. A box that is not finite, or has no area where sampling_ratio is 0, gives
/// 0.
struct RoiAlignArgs {
  double scale = 1;
  std::int64_t sampling_ratio = 0;
  Tensor boxes;  // (n, 5) float32
  Tensor
      rows;  // (n) int64, each another; n are fewer than those of y where others are made elsewhere
  bool add = false;  // backward adds to dx; false: it writes all of it
};

/// Softmax cross-entropy of logits (rows, classes), or with more axes in front, and target (rows)
/// int64: loss = lse - (1 - smoothing) logits[target] - smoothing mean(logits). Rows whose target
/// is ignore_index get loss 0. loss and lse: (rows).
struct CrossEntropyArgs {
  double smoothing = 0;
  std::int64_t ignore_index = 0;
  Tensor logits, target;
  Tensor loss, lse;
};
/// dlogits = dloss[row] * d loss[row] / d logits.
struct CrossEntropyBackwardArgs {
  double smoothing = 0;
  std::int64_t ignore_index = 0;
  Tensor logits, target, lse, dloss;
  Tensor dlogits;
};

/// Of logits (b, k, pixels) and target (b, pixels) int64, the class of every pixel, over all pixels
/// that count: those whose target is not ignore_index. p is the softmax over the classes of a
/// pixel, or the sigmoid of each, t the target as 0 and 1.
struct RegionArgs {
  bool sigmoid = false;
  std::int64_t ignore_index = 0;
  Tensor logits, target;
};
/// Of every item and class, (b, k): both = sum(p t), sums = sum(p), squares = sum(p^2), labels =
/// sum(t). Of every item, (b): surprise = sum(-log p of the label), of a softmax; else 0.
struct RegionSums {
  Tensor both, sums, squares, labels, surprise;
};
struct RegionSumsArgs {
  RegionArgs of;
  RegionSums to;
};
/// dlogits from the gradients of all but `labels`.
struct RegionSumsBackwardArgs {
  RegionArgs of;
  Tensor dboth, dsums, dsquares, dsurprise;
  Tensor dlogits;
};
/// Of target (b, h, w) int64: how many pixels a class has, and how many of them have a 4-neighbour
/// of another class or outside the image; both (k), float64.
struct RegionAreasArgs {
  Tensor target;
  Tensor area, boundary;
};

/// An update of several parameters in place. Gradients count times `scale`, () of the backend's
/// widest type; where that is not finite nothing changes. Undefined: 1.
struct AdamArgs {
  double lr = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled = true;  // weights decay by themselves; else weight_decay param is in the gradient
  std::int64_t step = 1;  // counted from 1
  Tensor scale = {};

  /// What is left of a weight before its step, and its share in its gradient.
  double kept() const { return decoupled ? 1 - lr * weight_decay : 1; }
  double in_gradient() const { return decoupled ? 0 : weight_decay; }
};
struct AdamTensors {
  Tensor grad, param, m, v;
};

struct SgdArgs {
  double lr = 0, momentum = 0, weight_decay = 0, dampening = 0;
  bool nesterov = false;
  bool first = false;  // the momentum buffer is being started
  Tensor scale = {};   // as in AdamArgs
};
/// momentum is undefined where there is none, which is the same for all of an update.
struct SgdTensors {
  Tensor grad, param, momentum = {};
};

struct LambArgs {
  double lr = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-6, weight_decay = 0;
  std::int64_t step = 1;    // counted from 1
  bool adapt = true;        // the length of a step follows that of the weights
  bool trust_clip = false;  // but is not more than Adam's
  Tensor scale = {};        // as in AdamArgs
};

struct LionArgs {
  double lr = 0, beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
  Tensor scale = {};  // as in AdamArgs
};
struct LionTensors {
  Tensor grad, param, m;
};
struct Averaged {
  Tensor x, average;
};

/// One layer of attention whose values are a running sum of maps (kcla 2.9), all in (b, c, h, w):
///   y = x + keep act(norm(v)), or without x;  v = depthwise 3x3 convolution of u, zeros around it.
/// kernel (c, 9) is scaled for every plane; scale and keep (b c). keep may be undefined, which
/// is 1.
struct ValueNorm {
  Tensor u, kernel, scale;
  ChannelNorm norm;  // by channel
  Tensor keep = {};
  bool fixed_stats = false;  // mean and rstd are constants
  bool relu = false;
  bool add_x = true;
};
/// ValueNorm::u = before + w x, w (b c); before may be undefined. eps is that of the norm.
struct RunningValueArgs {
  double eps = 0;
  Tensor before = {}, w, x;
};
/// u is the gradient of ValueNorm::u, which is also that of the sum before; if `adds`, it already
/// holds the gradient from later layers. w is the gradient of the weight of x in u; that of x has a
/// share of y and of u, and may be written over dy. u, kernel and scale are always wanted.
struct ValueNormGradients {
  Tensor u = {}, w = {}, x = {}, kernel = {}, scale = {}, weight = {}, bias = {};
  bool adds = false;
};
struct ValueNormBackwardArgs {
  ValueNorm of;
  Tensor w, x, dy;
  ValueNormGradients to;
};

}  // namespace fovea
