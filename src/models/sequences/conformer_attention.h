// The attentions of a Conformer: softmax with relative positions, and linear ones. mala 4.6; Gulati
// et al., Conformer (Interspeech 2020); names are ESPnet's.
#pragma once

#include "attention/mala.h"
#include "nn/linear.h"

namespace fovea::models {

enum class ConformerMechanism { kSoftmax, kLinear, kMala };

/// kernel and eps are of linear attention too.
struct ConformerAttentionOptions : attention::MalaOptions {
  ConformerMechanism type = ConformerMechanism::kSoftmax;
  std::int64_t num_heads = 4;
};
schema::Fields<ConformerAttentionOptions> conformer_attention_fields();

/// Softmax attention with Transformer-XL's relative positions:
///   score_ij = ((q_i + u) . k_j + (q_i + v) . p_(i-j)) d^-1/2,   p_m = linear_pos(sinusoids of m)
/// Sinusoids of a difference are products of sinusoids: with a_i = W^T (q_i + v) turned by the
/// angles of i, the second term is a_i . e_j, where e_j are the sinusoids of j. So a head is
/// ordinary attention with queries [q + u, a] and keys [k, e], which never stores a map.
/// linear and mala have no positions of their own: the network adds sinusoids to its tokens.
/// (b, n, dim) -> (b, n, dim). Names: linear_q, linear_k, linear_v, linear_out; of softmax
/// linear_pos, pos_bias_u, pos_bias_v (heads, head_dim). A probe sees the map as "attn".
class ConformerAttention final : public nn::Module {
 public:
  /// Throws ConfigError if the heads do not divide dim, or dim is odd.
  ConformerAttention(const nn::Build& build, std::int64_t dim,
                     const ConformerAttentionOptions& options);
  std::string type() const override { return "ConformerAttention"; }
  Tensor operator()(const Tensor& x, const attention::Context& context);

 private:
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v,
                const attention::Context& context);
  Tensor relative_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                            const attention::Context& context);
  Tensor linear_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const attention::Context& context);
  ops::HeadView heads(const Tensor& x) const;

  ConformerAttentionOptions o_;
  std::int64_t dim_, head_dim_;
  nn::Linear& q_;
  nn::Linear& k_;
  nn::Linear& v_;
  nn::Linear& out_;
  nn::Linear* pos_ = nullptr;
  Tensor bias_u_, bias_v_;
  attention::Mala* mala_ = nullptr;
};

}  // namespace fovea::models
