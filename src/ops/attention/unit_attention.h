// Softmax attention inside units of tokens, which are read where they lie: no windows are copied,
// nothing is rolled or padded. And the composed form of its maps.
#pragma once

#include "ops/attention/attention.h"
#include "ops/attention/units.h"

namespace fovea::ops {

struct UnitAttentionOptions {
  double scale = 1;
  Tensor bias =
      {};  // (heads, members, members) added to the scores, differentiable; undefined: none
  double region_mask = -100;  // added to the scores between different regions of a unit
  /// False: the keys of padding places are masked (dformer's mask of -1e6). True: they attend, as
  /// in Swin, with the values in `padding`.
  bool padding_attends = false;
  /// (width): what the tensor that k and v view holds at a padding place, differentiable: the bias
  /// of the projection, since a map is padded with zeros before it. Undefined: zeros.
  Tensor padding = {};
};

/// softmax(scale q k^T + bias + masks) v among the tokens of each unit, heads concatenated: q, k, v
/// (b, n, width) -> (b, n, heads * v.dim). Memory is that of the result and of one number for every
/// head and place. mala 3.8; dformer 3.3.
Tensor unit_attention(const HeadView& q, const HeadView& k, const HeadView& v, const Units& units,
                      const UnitAttentionOptions& options);

/// The maps: (b, heads, units, members, members). Rows of padding are zero, and columns too where
/// padding does not attend.
Tensor unit_attention_map(const HeadView& q, const HeadView& k, const Units& units,
                          const UnitAttentionOptions& options);
/// Such maps, perhaps after dropout, times the values: the result of unit_attention() with them.
Tensor attend_units(const Tensor& maps, const HeadView& v, const Units& units,
                    const UnitAttentionOptions& options);

}  // namespace fovea::ops
