// What the operations on linear attention share: one call of the kernel, and the similarities that
// the kernel does not store. For their sources only.
#pragma once

#include "ops/attention/head_views.h"
#include "ops/attention/linear_attention.h"

namespace fovea::ops {

/// Builds a call. Throws ShapeError, naming the operation, for shapes that do not fit.
struct LinearAttentionCall {
  LinearAttentionCall(const char* op, const HeadView& q, const HeadView& k, const HeadView& v);

  void seen(bool causal, const Tensor& key_mask, const RotaryTables& rotary);
  void finish(const HeadFinish& finish);
  /// A parameter (heads, v.dim) of the call.
  void check_parameter(const char* what, const Tensor& x) const;
  Tensor run() const;

  const char* name;
  LinearAttentionArgs args;
  LinearAttentionInputs in;
  std::vector<HeadView> views;
};

/// For queries [first, first + count) and all keys, in float32 or float64: products of features
/// with their positions, 0 for keys that are not seen, (b, heads, count, keys), and sums of the
/// products without positions over the keys that are seen, (b, heads, count, 1).
struct Similarities {
  Tensor products, sums;
  Tensor counts;  // how many keys are seen, broadcast to the sums
};
Similarities similarities(const HeadView& q, const HeadView& k,
                          const LinearAttentionOptions& options, std::int64_t first,
                          std::int64_t count);

}  // namespace fovea::ops
