// What attentions of channels share: a gate in (0, 1) for each channel of the block's branch.
// kcla 2.5, 2.6.
#pragma once

#include "layer_attention/layer_attention.h"

namespace fovea::layer_attention {

/// (b, c) as a factor of maps: (b, c, 1, 1).
Tensor channel_factor(const Tensor& x);

/// x gate(x), on the branch of the block. A probe sees the gate as "gate".
class GatedChannels : public LayerAttention {
 public:
  Join join() const override { return {.on_branch = true, .norm = false}; }

 protected:
  Tensor forward(const Layer& in, State& state, attention::Probe* probe) final;
  /// (b, c) for in.x (b, c, h, w); undefined: 1.
  virtual Tensor gate(const Layer& in, State& state) = 0;
};

}  // namespace fovea::layer_attention
