// What the differential attentions share: two softmax maps per head over one value stream of twice
// the width, fused as c1 A1 + c2 A2. dgsa 2.2, 2.3.
#pragma once

#include "attention/attention.h"
#include "nn/dropout.h"
#include "ops/attention/attention.h"

namespace fovea::attention {

/// The five views of one attention; q1 and q2 lie in one tensor, k1 and k2 too.
struct TwoMaps {
  ops::HeadView q1, k1, q2, k2, v;
  ops::AttentionOptions options;
};

/// 0.8 - 0.6 exp(-0.3 (layer - 1)), layer from 1: lambda_init of DIFF, the schedule of M-DGSA.
double lambda_schedule(std::int64_t layer);

/// c1 A1 + c2 A2 as a tensor (b, heads, n, n), from its two maps. c1, c2: (b, n, heads).
Tensor fused_map(const Tensor& map1, const Tensor& map2, const Tensor& c1, const Tensor& c2);

/// Records a signed map that is P - N as "attn", and its parts as "attn_positive" and
/// "attn_negative".
void record_difference(Probe& probe, const Tensor& positive, const Tensor& negative);

/// Records the rows that the probe wants of A1, of A2 and of fused_map(), the difference of c1 A1
/// and -c2 A2.
void record_maps(const Context& context, const TwoMaps& maps, const Tensor& c1, const Tensor& c2,
                 const char* name1, const char* name2);

/// (c1 A1 + c2 A2) V, heads concatenated: (b, n, heads * v.dim). With `drop` in training mode the
/// map is made, dropped out and applied; otherwise nothing of size n x n is kept.
Tensor apply_two_maps(const TwoMaps& maps, const Tensor& c1, const Tensor& c2, nn::Dropout* drop);

}  // namespace fovea::attention
