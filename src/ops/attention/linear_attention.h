// Linear attention that never stores a map, and the map itself (for the probe and the tests).
// gdla 2.2 to 2.4; mala 3.
#pragma once

#include "backend/fused_args.h"
#include "ops/attention/attention.h"

namespace fovea::ops {

/// Angles of rotary positions, cos and sin (n, head_dim / 2): pair i of token t is (x[2i],
/// x[2i + 1]) and turns by the angle at (t, i). Undefined: no positions.
struct RotaryTables {
  Tensor cos, sin;
};
/// Turns every head of x (b, n, heads * head_dim) by the tables. dgsa 2.3, gdla 2.10, mala 3.5.
Tensor rotate(const Tensor& x, const RotaryTables& tables);

struct LinearAttentionOptions {
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  double eps = 1e-6;         // added to the denominator
  bool causal = false;       // one map only
  Tensor key_mask = {};      // (b, keys) uint8, 1 = valid; undefined = all; none where causal
  RotaryTables rotary = {};  // of features in products, not in the denominator; one map only
};

/// What follows each head's result in the same pass over memory: an RMS norm with `weight` (v.dim),
/// a residual sum, then the product with a function of a gate; residual and gate are laid out like
/// the result.
struct HeadFinish {
  Tensor weight;  // undefined: no norm
  double norm_eps = 1e-5;
  HeadView gate;                     // (b, queries, width), heads as wide as v's; no x: no gate
  UnaryOp gate_op = UnaryOp::kSilu;  // or kSigmoid, or kAffine: the gate itself
  HeadView residual = {};            // as the gate
};

/// What finish does to a result (b, n, heads * width), by operations of their own: for probes, that
/// have to see the result before.
Tensor finished(const Tensor& result, const HeadFinish& finish);

/// phi(x), elementwise. mala 3.1.
Tensor features(FeatureMap map, const Tensor& x);
/// elu(x) + 1: x + 1 above 0, exp(x) below; its derivative is 1 at 0. gdla 2.2.
Tensor elu_plus_one(const Tensor& x);

/// y_n = (Q_n S) / (Q_n . s + eps),  S = sum_m K_m^T v_m,  s = sum_m K_m,  Q = phi(q), K = phi(k);
/// heads concatenated: (b, queries, heads * v.dim). Time and memory are linear in the tokens.
/// With features below 0 (feature_map kNone) the denominator may vanish. gdla 2.3.
/// Masked tokens have no weight as keys and, where queries are as many as keys, the result 0.
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
/// Q_n . K_m / (Q_n . s + eps): (b, heads, count, keys). Computed for these queries alone; count <
/// 0 means all from `first` on.
Tensor linear_attention_map(const HeadView& q, const HeadView& k,
                            const LinearAttentionOptions& options, std::int64_t first = 0,
                            std::int64_t count = -1);

}  // namespace fovea::ops
