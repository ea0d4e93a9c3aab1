// Multi-head softmax attention inside units of the tokens of a grid (ops/attention/units.h): the
// module of Swin's windows and of D-Former's local and global units. mala 3.8; dformer 3.3, 3.11.
#pragma once

#include <optional>
#include <vector>

#include "attention/probe.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "ops/attention/unit_attention.h"

namespace fovea::attention {

struct UnitOptions {
  std::int64_t num_heads = 1;
  bool qkv_bias = true;
  std::optional<double> qk_scale = std::nullopt;  // null: head_dim^-0.5
  /// Members along each axis of the units of a relative position bias; empty: there is none.
  std::vector<std::int64_t> bias_unit = {};
  /// Padding attends with the bias of qkv, as in Swin; false: it is masked.
  bool padding_attends = false;
  double attn_drop = 0;  // of weights; while training, maps are then made in full
  double proj_drop = 0;  // behind proj
};

/// Names: qkv, proj, relative_position_bias_table ((2 unit - 1 along each axis), heads), which
/// starts as a normal of 0.02 truncated at +-2.
class UnitAttention final : public nn::Module {
 public:
  /// Throws ConfigError, naming `network`, if num_heads does not divide dim.
  UnitAttention(const nn::Build& build, const char* network, std::int64_t dim,
                const UnitOptions& options);
  std::string type() const override { return "UnitAttention"; }
  /// (b, n, dim) -> the same. A probe sees the maps of all units as "unit_attn" (b, heads, units,
  /// members, members), with their tokens.
  Tensor operator()(const Tensor& x, const ops::Units& units, Probe* probe = nullptr);

 private:
  Tensor before_proj(const Tensor& x, const ops::Units& units, Probe* probe);

  UnitOptions o_;
  double scale_;
  nn::Linear& qkv_;
  nn::Linear& proj_;
  nn::Dropout* attn_drop_ = nullptr;
  nn::Dropout* proj_drop_ = nullptr;
  ops::RelativePositions positions_;
  Tensor bias_table_;
};

}  // namespace fovea::attention
