// Blocks of a diffusion transformer, whose norms are shifted and scaled and whose branches are
// weighted by what the network is told of the image (adaLN-Zero, Peebles and Xie, ICCV 2023).
// mala 4.7.
#pragma once

#include "attention/attention.h"
#include "nn/ffn.h"
#include "nn/linear.h"

namespace fovea::models {

struct DiTBlockOptions {
  std::int64_t dim = 0;
  schema::Component attention{"softmax", {}};
  double mlp_ratio = 4;
};

/// x (b, n, dim), c (b, dim) -> (b, n, dim), with (shift, scale, gate) twice from
/// adaLN_modulation.1 of SiLU(c):
///   x = x + gate attn(LN(x) (1 + scale) + shift),  the same with the MLP (GELU, tanh)
/// The layer starts as zeros, so that a new block changes nothing. Children attn, mlp,
/// adaLN_modulation.1.
class DiTBlock final : public nn::Module {
 public:
  /// `layer` counts from 1 of `depth`; `layout`: of the tokens.
  DiTBlock(const nn::Build& build, const DiTBlockOptions& options, std::int64_t layer,
           std::int64_t depth, const attention::Layout& layout);
  std::string type() const override { return "DiTBlock"; }
  bool is_block() const override { return true; }
  Tensor operator()(const Tensor& x, const Tensor& c, const attention::Context& context);

 private:
  attention::Attention& attn_;
  nn::FeedForward& mlp_;
  nn::Linear& modulation_;
};

/// x (b, n, dim), c (b, dim) -> (b, n, out), a linear layer of the norm with (shift, scale) from c.
/// Starts as zeros. Children linear, adaLN_modulation.1.
class DiTFinalLayer final : public nn::Module {
 public:
  DiTFinalLayer(const nn::Build& build, std::int64_t dim, std::int64_t out);
  std::string type() const override { return "DiTFinalLayer"; }
  Tensor operator()(const Tensor& x, const Tensor& c);

 private:
  nn::Linear& linear_;
  nn::Linear& modulation_;
};

}  // namespace fovea::models
