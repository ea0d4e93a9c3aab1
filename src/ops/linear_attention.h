// Linear attention that never stores a map, and the map itself (for the probe and the tests).
// gdla 2.2 to 2.4.
#pragma once

#include "backend/fused_args.h"
#include "ops/attention.h"

namespace fovea::ops {

struct LinearAttentionOptions {
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  double eps = 1e-6;  // added to the denominator
};

/// What is made of each head's result in the same pass over memory: its RMS norm times `weight`
/// (v.dim), then the product with a function of a gate that is laid out like the result.
struct HeadFinish {
  Tensor weight;  // undefined: no norm
  double norm_eps = 1e-5;
  HeadView gate;                     // (b, queries, width), heads as wide as v's; no x: no gate
  UnaryOp gate_op = UnaryOp::kSilu;  // or kSigmoid
};

/// elu(x) + 1: x + 1 above 0, exp(x) below; its derivative is 1 at 0. gdla 2.2.
Tensor elu_plus_one(const Tensor& x);

/// y_n = (Q_n S) / (Q_n . s + eps),  S = sum_m K_m^T v_m,  s = sum_m K_m,  Q = phi(q), K = phi(k);
/// heads concatenated: (b, queries, heads * v.dim). Time and memory are linear in the tokens.
/// With features below 0 (feature_map kNone) the denominator may vanish. gdla 2.3.
/// Throws ShapeError if heads share channels.
Tensor linear_attention(const HeadView& q, const HeadView& k, const HeadView& v,
                        const LinearAttentionOptions& options, const HeadFinish& finish = {});

/// y1 - lambda y2 of two such attentions over one value stream, lambda: (heads, v.dim), one for
/// each head and channel. q1 and q2 must view one tensor, k1 and k2 too. gdla 2.4.
Tensor two_map_linear_attention(const HeadView& q1, const HeadView& k1, const HeadView& q2,
                                const HeadView& k2, const HeadView& v, const Tensor& lambda,
                                const LinearAttentionOptions& options,
                                const HeadFinish& finish = {});

/// Rows [first, first + count) of the map that linear_attention() does not store,
/// Q_n . K_m / (Q_n . s + eps): (b, heads, count, keys). Made for these queries alone; count < 0 is
/// all from `first` on.
Tensor linear_attention_map(const HeadView& q, const HeadView& k,
                            const LinearAttentionOptions& options, std::int64_t first = 0,
                            std::int64_t count = -1);

}  // namespace fovea::ops
