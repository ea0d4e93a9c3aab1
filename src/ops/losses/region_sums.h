// The sums over pixels that region losses are made of, in one pass over the logits: soft overlaps
// of predictions and labels for each class, and the cross-entropy.
#pragma once

#include "backend/fused_args.h"

namespace fovea::ops {

/// The sums of `of`, whose target holds ignore_index or numbers in [0, k): logits (b, k, n), target
/// (b, n) int64 -> (b, k) and (b), in the compute type. All but `labels` have a gradient.
RegionSums region_sums(const RegionArgs& of);

}  // namespace fovea::ops
