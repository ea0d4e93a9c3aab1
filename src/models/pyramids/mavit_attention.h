// The attention of MAViT's blocks, magnitude-aware or softmax, on tokens of a grid. mala 3.6.
#pragma once

#include "attention/mala.h"
#include "attention/rotary.h"
#include "nn/convolution.h"
#include "nn/ffn.h"

namespace fovea::models {

struct MavitAttentionOptions : attention::MalaOptions {
  std::int64_t lepe = 5;
  bool gate = true;
  attention::RotaryKind rope = attention::RotaryKind::kGrid;
};
schema::Fields<MavitAttentionOptions> mavit_attention_fields();

/// The mechanism of a block: "l" and "v" in the authors' code.
enum class MavitMechanism { kMala, kSoftmax };

/// A 1x1 convolution to several parts of equal width. Each part is a tensor of its own, so that
/// none has to be copied out. Names: weight (sum of widths, in, 1, 1), bias.
class SplitPointwise final : public nn::Module {
 public:
  SplitPointwise(const nn::Build& build, std::int64_t in, std::vector<std::int64_t> widths);
  std::string type() const override { return "SplitPointwise"; }
  std::vector<Tensor> operator()(const Tensor& x);

 private:
  std::vector<std::int64_t> widths_;
  Tensor weight_, bias_;
};

/// out = proj((R + lepe(v)) o) with R = MALA(q, k, v), or softmax(q k^T head_dim^-1/2) v of rotated
/// queries and keys: (b, h w, dim) -> the same. The context has the grid and the rotary tables. A
/// probe sees the map as "attn", before lepe and gate. Names: qkvo (qkv without a gate), lepe,
/// proj; beta, gamma where they are learnable.
class MavitAttention final : public nn::Module {
 public:
  MavitAttention(const nn::Build& build, std::int64_t dim, std::int64_t num_heads,
                 MavitMechanism mechanism, const MavitAttentionOptions& options);
  std::string type() const override {
    return mechanism_ == MavitMechanism::kMala ? "MalaAttention2d" : "SoftmaxAttention2d";
  }
  Tensor operator()(const Tensor& x, const attention::Context& context);

 private:
  Tensor softmax(const Tensor& qk, const Tensor& v, const attention::Context& context) const;
  ops::HeadView heads_of(const Tensor& x, std::int64_t first) const;

  MavitAttentionOptions o_;
  std::int64_t dim_, num_heads_, head_dim_;
  MavitMechanism mechanism_;
  attention::Mala* mala_ = nullptr;
  SplitPointwise& qkvo_;
  nn::TokenConv2d* lepe_ = nullptr;
  nn::TokenPointwise& proj_;
};

}  // namespace fovea::models
