// One map of linear attention from primitives: forward, and the gradients of its inputs. gdla 2.3;
// mala 3.2 to 3.4.
#pragma once

#include "backend/composed/heads.h"

namespace fovea::composed {

/// x (b, n, heads * 2 pairs) or any other shape with rows of pairs, cos and sin (n, pairs).
Tensor rotated(bool back, const Tensor& x, const Tensor& cos, const Tensor& sin);

/// Of (b, heads, tokens, ...). Causal, everything is made of n x n matrices.
class LinearMap {
 public:
  LinearMap(const LinearAttentionArgs& args, const LinearAttentionInputs& in, bool second);

  /// (b, heads, queries, width).
  const Tensor& result() const { return y_; }
  /// As LinearAttentionSums has them; products of this map alone.
  LinearAttentionSums sums() const;
  /// Values as the map sees them, and their gradient.
  Tensor backward(const Tensor& dy, const LinearAttentionGradients& to) const;

 private:
  void weigh();
  Tensor by_mask(const Tensor& x) const;
  Tensor by_query_mask(const Tensor& x) const;
  Tensor turned(bool back, const Tensor& x) const;
  // Sums over the keys that each query sees, (.., 1 or queries, ..), and their gradient.
  Tensor over_keys(const Tensor& x) const;
  Tensor over_keys_backward(const Tensor& dsum) const;
  Tensor parameter(const Tensor& x) const;

  const LinearAttentionArgs& args_;
  const LinearAttentionInputs& in_;
  const HeadLayout& q_layout_;
  const HeadLayout& k_layout_;
  Tensor mask_, allowed_;  // (b, 1, keys, 1); causal (n, n): 1 where a query sees a key
  Tensor q_, k_, v_;       // features, and values
  Tensor qr_, kr_;         // with their positions
  Tensor s_, u_;           // sums of keys and of values
  Tensor scores_;          // causal: q . k of queries and the keys they see
  Tensor products_;        // else K^T v
  Tensor p_;               // similarities times values
  Tensor keys_, c_;        // number of keys seen, and the scale of similarities
  Tensor z_, beta_, gamma_;
  Tensor y_;
};

}  // namespace fovea::composed
