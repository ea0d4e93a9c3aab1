// Heads of projections, for the default bodies of attention.
#pragma once

#include "backend/composed/composed.h"

namespace fovea::composed {

/// The heads of a projection as (batch, heads, tokens, dim) in the compute type.
Tensor take_heads(const Tensor& from, const HeadLayout& layout, std::int64_t batch,
                  std::int64_t tokens);
/// The reverse: writes heads to their places in a gradient, or adds them.
void put_heads(const Tensor& heads, const HeadLayout& layout, bool add, const Tensor& to);
/// op(a) op(b) of every head of every item.
Tensor head_product(const Tensor& a, bool trans_a, const Tensor& b, bool trans_b);

}  // namespace fovea::composed
