// The light form of MRLA, which DLA-L also uses. kcla 2.3.
#pragma once

#include "layer_attention/heads.h"

namespace fovea::layer_attention {

/// O = sigmoid(Q . K / sqrt(head_dim)) f_V(x) + lambda P, with this layer's key alone. kcla Eq.
/// 5-6. Parameters: lambda_t (c, 1, 1), normal(0, 1), and Wq, Wk, Wv below `inner`.
class Light final : public nn::Module {
 public:
  Light(const nn::Build& build, std::int64_t channels, std::int64_t num_heads, const char* inner);
  std::string type() const override { return "LightLayerAttention"; }
  /// x and previous (P): (b, c, h, w), y: x pooled, (b, c). Records "gate" (b, heads).
  Tensor operator()(const Tensor& x, const Tensor& y, const Tensor& previous,
                    attention::Probe* probe);

 private:
  Tensor lambda_;
  Projections& p_;
};

}  // namespace fovea::layer_attention
