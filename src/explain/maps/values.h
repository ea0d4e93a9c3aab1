// Relevance from what attention adds up, not from its weights alone: norms of weighted values
// (Kobayashi et al., 2020) and their contribution to the output (arXiv 2606.07604).
#pragma once

#include <cstdint>
#include <vector>

#include "explain/maps/tokens.h"

namespace fovea::explain {

/// One attention and one sample: u = A v, and the way from u to the output. With a norm, u of each
/// head is divided by its root mean square, which counts as a constant, and multiplied by the
/// norm's weight and the factor.
struct HeadValues {
  std::int64_t heads = 1, rows = 0, keys = 0;
  std::vector<double> map;     // A (heads, rows, keys)
  std::int64_t width = 0;      // of a head
  std::vector<double> values;  // v (heads, keys, width)
  std::vector<double> proj;    // columns of the output projection (dim, heads * width)
  bool norm = false;
  std::vector<double> norm_weight = {};  // (width); empty: ones
  double norm_eps = 0, factor = 1;

  std::int64_t dim() const;
};

/// |A_ij| times the norm of what head h makes of v_j on its way to the output: (heads, rows,
/// keys).
std::vector<double> head_norms(const HeadValues& x);
/// The norm of what token j adds to the output of token i, over all heads: (rows, keys).
Matrix summed_norms(const HeadValues& x);
/// The share of token j in the output o_i (without biases): the projection of what it adds on o_i,
/// over |o_i|^2; 0 where o_i is. Signed, rows sum to 1. (rows, keys)
Matrix contributions(const HeadValues& x);
/// The same of one head, in its own space behind its norm and before the projection. (heads,
/// rows, keys)
std::vector<double> head_contributions(const HeadValues& x);

/// Of as many keys as rows: rows divided by their sums, rows of zeros stay; then (N + I) / 2.
Matrix rollout_step(Matrix norms);

}  // namespace fovea::explain
