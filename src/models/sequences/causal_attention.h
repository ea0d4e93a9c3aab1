// The attention of a decoder of sequences: every token sees itself and those before it. By softmax,
// linear or magnitude-aware; over a whole sequence, or over the next tokens with a state that holds
// what came before. mala 3.4, 4.6.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "attention/attention.h"
#include "nn/linear.h"
#include "ops/attention/recurrent_attention.h"
#include "schema/registry.h"

namespace fovea::models {

/// What one attention keeps of the tokens before. Softmax: keys, turned by their positions, and
/// values of all of them, (b, tokens, dim) each. The linear forms: sums whose size does not grow.
struct AttentionState {
  Tensor keys = {}, values = {};
  ops::RecurrentState sums = {};

  std::int64_t bytes() const;
};

/// Options of every causal attention.
struct CausalAttentionOptions {
  std::int64_t num_heads = 16;
  std::optional<double> rope_base;
};

/// (b, n, dim) -> the same. Names: q_proj, k_proj, v_proj, o_proj, without biases, as in LLaMA.
/// A probe sees the map of a whole sequence as "attn".
class CausalAttention : public nn::Module {
 public:
  /// What a pass gives beside the tokens.
  struct Pass {
    ops::RotaryTables rotary = {};      // of these tokens; undefined without positions
    attention::Probe* probe = nullptr;  // of whole sequences
    AttentionState* state = nullptr;  // the tokens come behind it, and are added to it; null: they
                                      // are a whole sequence
  };
  Tensor operator()(const Tensor& x, const Pass& pass);

  std::int64_t head_dim() const { return head_dim_; }
  /// Of rotary positions; none: without them.
  const std::optional<double>& rope_base() const { return rope_base_; }

 protected:
  struct Heads {
    ops::HeadView q, k, v;
  };
  /// Throws ConfigError if num_heads does not divide dim, or if heads of rotary positions are odd.
  CausalAttention(const nn::Build& build, std::int64_t dim, const CausalAttentionOptions& options);

  /// Heads concatenated, (b, n, dim).
  virtual Tensor whole(const Heads& heads, const Pass& pass) = 0;
  virtual Tensor next(const Heads& heads, const Pass& pass) = 0;

 private:
  std::int64_t num_heads_, head_dim_;
  std::optional<double> rope_base_;
  nn::Linear& q_proj_;
  nn::Linear& k_proj_;
  nn::Linear& v_proj_;
  nn::Linear& o_proj_;
};

/// One line of their registry.
struct CausalAttentionEntry : schema::Choice {
  static constexpr const char* kKind = "causal_attention";
  std::function<std::unique_ptr<CausalAttention>(const nn::Build&, const schema::Component&,
                                                 std::int64_t dim)>
      make;
};
const schema::Registry<CausalAttentionEntry>& causal_attentions();

}  // namespace fovea::models
