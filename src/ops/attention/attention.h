// Fused attention that never stores a map, and the composed forms that do (for the probe and the
// tests). Heads are read in place from projections: see HeadView.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

/// Where the heads of a projection lie in x (b, n, width): head h is the `dim` channels from
/// offsets[h]. A fused qkv projection, interleaved streams and grouped heads need no copy.
struct HeadView {
  Tensor x;
  std::vector<std::int64_t> offsets;
  std::int64_t dim = 0;
};

/// num_heads heads of `dim` channels, head h at first + h * step.
HeadView heads(const Tensor& x, std::int64_t num_heads, std::int64_t dim, std::int64_t first,
               std::int64_t step);

struct AttentionOptions {
  double scale = 1;
  bool causal = false;
  Tensor key_mask = {};  // (b, keys) uint8, 1 = valid; undefined = all valid
};

/// softmax(scale q k^T) v, heads concatenated: (b, queries, heads * v.dim). dgsa 2.1, 2.4.
Tensor attention(const HeadView& q, const HeadView& k, const HeadView& v,
                 const AttentionOptions& options);

/// (c1 softmax(scale q1 k1^T) + c2 softmax(scale q2 k2^T)) v with one coefficient per query and
/// head, c1 and c2: (b, queries, heads). DIFF: (1, -lambda); M-DGSA: (g, g - 1). dgsa 2.2, 2.3.
/// q1 and q2 must view one tensor, k1 and k2 too.
Tensor two_map_attention(const HeadView& q1, const HeadView& k1, const HeadView& q2,
                         const HeadView& k2, const HeadView& v, const Tensor& c1, const Tensor& c2,
                         const AttentionOptions& options);

// The composed pieces.
/// (b, heads, n, dim), copied out of the projection.
Tensor take_heads(const HeadView& view);
/// (b, heads, n, dim) -> (b, n, heads * dim).
Tensor merge_heads(const Tensor& x);
/// Rows [first, first + count) of the map of one stream: (b, heads, count, keys); count < 0 is all
/// from `first` on. Throws ShapeError for a part of a causal map.
Tensor attention_map(const HeadView& q, const HeadView& k, const AttentionOptions& options,
                     std::int64_t first = 0, std::int64_t count = -1);

}  // namespace fovea::ops
