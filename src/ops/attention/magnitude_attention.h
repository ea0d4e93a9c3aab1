// Magnitude-aware linear attention. mala 3.2 to 3.5.
#pragma once

#include "ops/attention/linear_attention.h"

namespace fovea::ops {

/// c of the similarities: 1, or head_dim^-1/2 over the number of keys, as in the authors' code.
enum class SimilarityScale { kNone, kHeadDimMean };

/// What beta and gamma are: by formula, left out (1 and 0), or parameters. mala 3.3.
enum class Coefficient { kFormula, kNone, kGiven };

/// The sum z is that of features without their positions, as in the authors' code, or of those
/// with them, and then at least eps.
enum class Normaliser { kUnrotated, kRotated };

struct MagnitudeOptions {
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  SimilarityScale scale = SimilarityScale::kHeadDimMean;
  double eps = 1e-6;  // in beta
  Coefficient beta = Coefficient::kFormula, gamma = Coefficient::kFormula;
  Tensor given_beta = {}, given_gamma = {};  // (heads, v.dim), one for each head and channel
  Normaliser normaliser = Normaliser::kUnrotated;
  bool causal = false;   // without given coefficients
  Tensor key_mask = {};  // (b, keys) uint8, 1 = valid; undefined = all; none where causal
  RotaryTables rotary = {};
};

/// With Sim_ij = c <Q_i, K_j> and z_i = sum_j Sim_ij:
///   y_i = sum_j (beta_i Sim_ij - gamma_i) v_j,   beta_i = 1 + 1 / (z_i + eps),   gamma_i = z_i / n
/// heads concatenated: (b, queries, heads * v.dim). Time and memory are linear in the tokens.
/// Causal, i sees the keys j <= i, and n is their number. Where phi(q_i) is 0, so is y_i.
/// Masked tokens have no weight as keys and, where queries are as many as keys, the result 0.
/// Throws ShapeError if heads share channels.
Tensor magnitude_attention(const HeadView& q, const HeadView& k, const HeadView& v,
                           const MagnitudeOptions& options, const HeadFinish& finish = {});

/// The same map as matrices, for the queries [first, first + count) alone; count < 0 means all from
/// `first` on. scores (b, heads, count, keys); of each row its sum of similarities, beta and gamma
/// (b, heads, count, 1). Given coefficients, which differ by channel, are their means over
/// channels. Throws ShapeError for a part of a causal map.
struct MagnitudeMap {
  Tensor scores, z, beta, gamma;
};
MagnitudeMap magnitude_map(const HeadView& q, const HeadView& k, const MagnitudeOptions& options,
                           std::int64_t first = 0, std::int64_t count = -1);

}  // namespace fovea::ops
