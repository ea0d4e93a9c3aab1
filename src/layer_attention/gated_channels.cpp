#include "layer_attention/gated_channels.h"

#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::layer_attention {

Tensor channel_factor(const Tensor& x) { return ops::reshape(x, {x.size(0), x.size(1), 1, 1}); }

Tensor GatedChannels::forward(const Layer& in, State& state, attention::Probe* probe) {
  const Tensor y = gate(in, state);
  if (!y.defined()) return in.x;
  if (probe != nullptr) probe->record("gate", y);
  return ops::mul(in.x, channel_factor(y));
}

}  // namespace fovea::layer_attention
