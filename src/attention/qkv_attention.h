// Attention on the heads of one projection "qkv", in timm's layout, with an output projection
// "proj": what softmax and linear attention share. dgsa 2.1; gdla 2.7, 2.8.
#pragma once

#include <optional>

#include "attention/attention.h"
#include "attention/rotary.h"
#include "nn/linear.h"
#include "ops/attention/attention.h"

namespace fovea::attention {

struct QkvOptions {
  std::int64_t num_heads = 8;
  bool qkv_bias = true;
  bool proj_bias = true;
  bool qk_norm = false;
  std::optional<double> rope_base;
};

/// (b, n, dim) -> qkv -> attend -> proj, where a variant defines attend(). With qk_norm queries and
/// keys are normed head by head (Slot::norm, over head_dim) before anything else is done with them.
/// Names: qkv, q_norm, k_norm, proj.
class QkvAttention : public Attention {
 protected:
  struct Heads {
    ops::HeadView q, k, v;
  };

  /// Throws ConfigError, naming `variant`, if num_heads does not divide dim.
  QkvAttention(const char* variant, const Slot& slot, const QkvOptions& options);

  Tensor forward(const Tensor& x, const Context& context) final;

  /// Heads concatenated: (b, n, dim). `rotated`: q and k have rotary positions.
  virtual Tensor attend(const Heads& heads, const Context& context, bool rotated) = 0;
  /// Whether attend() gives the map that it records times the values, head by head.
  virtual bool applies_its_map() const { return true; }
  /// A branch that sees the neighbours of a token, (b, n, dim): added to attend()'s result before
  /// the output projection. x is the input of the projection; undefined: no branch.
  virtual Tensor local_branch(const Tensor& x, const ops::HeadView& v, const Context& context);
  /// Queries and keys, (b, n, 2 dim), as rotary positions are applied to them.
  virtual Tensor before_rotation(const Tensor& qk) const { return qk; }
  // The papers call the output projection out_proj, as PyTorch does.
  std::string translated(const std::string& name) const override;

  std::int64_t head_dim() const { return head_dim_; }
  std::int64_t num_heads() const { return num_heads_; }
  /// Queries and keys beside each other, (b, n, 2 dim), and heads with others in their place.
  static Tensor queries_and_keys(const Heads& heads);
  static Heads with_queries_and_keys(const Tensor& qk, const Heads& heads);

 private:
  Tensor before_proj(const Tensor& x, const Context& context);
  Tensor normed(const Tensor& qkv) const;

  std::int64_t num_heads_;
  std::int64_t head_dim_;
  Rotary rotary_;
  nn::Linear& qkv_;
  nn::UnaryModule* q_norm_ = nullptr;
  nn::UnaryModule* k_norm_ = nullptr;
  nn::Linear& proj_;
};

/// The tokens (b, n, heads * dim) of heads that lie beside each other.
Tensor tokens_of(const ops::HeadView& heads);

/// Adds the keys of the biases to the fields of a variant.
template <class Options>
schema::Fields<Options>& add_biases(schema::Fields<Options>& fields) {
  return fields.add("qkv_bias", &Options::qkv_bias, "bias on the fused q, k, v projection")
      .add("proj_bias", &Options::proj_bias, "bias on the output projection");
}

/// The fields of QkvOptions without rope_base (add_rope).
template <class Options>
schema::Fields<Options> qkv_fields(const Options& defaults = Options{}) {
  return add_biases(schema::Fields<Options>(defaults).add(
      "num_heads", &Options::num_heads, schema::at_least(1), "number of heads; must divide dim"));
}

}  // namespace fovea::attention
