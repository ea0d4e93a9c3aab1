// The linear attentions beside MALA, without projections: features of queries and keys where linear
// attention follows, or the whole attention. mala 3.1, 3.8. Time and memory are linear in the
// tokens, except for the maps, which are for the probe and the tests.
#pragma once

#include "attention/attention.h"
#include "ops/attention/attention.h"

namespace fovea::attention {

/// x (b, n, c) with zeros for the tokens that the mask (b, n) hides; without a mask x itself.
Tensor masked_tokens(const Tensor& x, const Tensor& key_mask);

/// x / sqrt(|x|^2 + 1e-24) for every run of `width` channels of x (..., channels); zeros stay
/// zeros.
Tensor unit_vectors(const Tensor& x, std::int64_t width);

/// Queries (b, n, channels) as softmax over the channels of each head.
Tensor efficient_queries(const Tensor& q, std::int64_t head_dim);
/// Keys (b, n, channels) as softmax over the tokens, each channel alone; 0 where they are masked.
Tensor efficient_keys(const Tensor& k, const Tensor& key_mask = {});

/// y_n = q_n * sum_m (k_m * v_m), q and k unit vectors over all channels, products by element:
/// (b, n, dim) each. Attention with a head for every channel. mala 3.8, 5.
Tensor hydra_attention(const Tensor& q, const Tensor& k, const Tensor& v);

/// y / |y| of y = v / 2 + q (k^T v) / pi for each head, q and k unit vectors, with `sparse` (b,
/// heads, n, n) the product of that map and v too: heads concatenated, (b, n, dim). mala 3.8, 7.
Tensor angular_attention(const ops::HeadView& q, const ops::HeadView& k, const ops::HeadView& v,
                         const Tensor& sparse = {});
/// softmax(q k^T / sqrt(d)) where it is above 0.02, else 0: (b, heads, count, n).
Tensor sparse_map(const ops::HeadView& q, const ops::HeadView& k, const Tensor& key_mask = {},
                  Probe::Rows rows = {});
/// I / 2 + q k^T / pi, the map before y is divided by its length: (b, heads, count, n).
Tensor angular_map(const ops::HeadView& q, const ops::HeadView& k, Probe::Rows rows = {});

/// A v with A_ij = s_ij - mean_j s_ij + 1/n, s = q k^T / (sqrt(d) n): heads concatenated, (b, n,
/// dim). mala 3.8, 10.
Tensor inline_attention(const ops::HeadView& q, const ops::HeadView& k, const ops::HeadView& v);
/// A: (b, heads, count, n), rows sum to 1, entries may be negative.
Tensor inline_map(const ops::HeadView& q, const ops::HeadView& k, Probe::Rows rows = {});

/// The focusing map over the last axis: t = (relu(x) + 1e-6) / scale, then t^factor with the length
/// of t. scale is broadcast, above 0. mala 3.8, 9.
Tensor focused(const Tensor& x, const Tensor& scale, double factor);

}  // namespace fovea::attention
