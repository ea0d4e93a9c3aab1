// The parts of gated differential linear attention, each usable alone. gdla 2.4, 2.5.
#pragma once

#include "attention/attention.h"
#include "nn/convolution.h"
#include "nn/norm.h"

namespace fovea::attention {

enum class Gate { kNone, kSigmoid, kSilu };

/// The heads of a packed projection, and how they attend.
struct GdlaHeads {
  std::int64_t num_heads = 8;
  Gate gate = Gate::kSilu;
  bool differential = true;
  double eps = 1e-6;  // of the denominators
};

/// t (b, n, q | k | v or q | k | v | g) -> (b, n, dim): two linear attentions on the halves of each
/// head, y = A1 - lambda A2 (lambda (heads, head_dim)), RMS norm of each head, gate of g. Not
/// differential: one linear attention with whole heads, and lambda is not read. gdla 2.4.
/// A probe sees the maps: "attn1", "attn2" and "attn", which is A1 - mean_c(lambda) A2 with the
/// mean over channels of a head (gdla 9).
Tensor attend_gdla(const GdlaHeads& heads, const Tensor& t, const Tensor& lambda,
                   const nn::RMSNorm& norm, const Context& context);

/// Depthwise k x k convolution over the grid and a 1x1 convolution, both with bias and nothing
/// between them; (b, n, channels) -> the same. Tokens before the grid stay as they are. Names: dwc,
/// pwc. gdla 2.5.
class LocalTokenMix final : public nn::Module {
 public:
  LocalTokenMix(const nn::Build& build, std::int64_t channels, std::int64_t kernel,
                std::int64_t pointwise_groups);
  std::string type() const override { return "LocalTokenMix"; }
  Tensor operator()(const Tensor& t, const Context& context);

 private:
  nn::TokenConv2d& dwc_;
  nn::TokenPointwise& pwc_;
};

}  // namespace fovea::attention
