// Attention-augmented convolution (kcla 2.10, row AA of Table II).
#pragma once

#include "nn/convolution.h"

namespace fovea::layer_attention {

struct AugmentedConvOptions {
  std::int64_t in = 0, out = 0;
  std::int64_t kernel = 3;      // odd
  std::int64_t dk = 0, dv = 0;  // channels of all queries (and keys), and of all values
  std::int64_t num_heads = 1;   // divides dk and dv
  bool relative = false;        // position tables for a grid of height x width
  std::int64_t height = 0, width = 0;
};

/// Part of the output channels come from a convolution, the others from self-attention over places:
///   concat(conv(x) -> out - dv, conv1x1(attention(x)) -> dv)
///   logits of places i, j: q_i . k_j + q_i . rel_w[jx - ix + w - 1] + q_i . rel_h[jy - iy + h - 1]
/// with q scaled by (dk / heads)^-0.5 and tables that the heads share. x: (b, in, h, w) -> (b, out,
/// h, w). Parameters: conv_out, qkv_conv, attn_out (weight, bias), key_rel_w (2 width - 1, dk /
/// heads), key_rel_h. The common PyTorch port reshapes the heads' outputs without a transpose; this
/// does not. Memory is quadratic in places. Throws ConfigError for sizes that do not fit.
class AugmentedConv final : public nn::UnaryModule {
 public:
  AugmentedConv(const nn::Build& build, const AugmentedConvOptions& options);
  std::string type() const override { return "AugmentedConv"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor logits(const Tensor& q, const Tensor& k) const;

  AugmentedConvOptions o_;
  Tensor rel_w_, rel_h_;
  nn::Conv2d& conv_out_;
  nn::Conv2d& qkv_;
  nn::Conv2d& attn_out_;
};

}  // namespace fovea::layer_attention
