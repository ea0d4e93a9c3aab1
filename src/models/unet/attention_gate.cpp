#include "models/unet/attention_gate.h"

#include "ops/elementwise.h"

namespace fovea::models {
namespace {

ops::ConvOptions same_size(const AttentionGateOptions& o) {
  return {.padding = {o.kernel / 2}, .groups = o.groups};
}

}  // namespace

AttentionGate::AttentionGate(const nn::Build& build, const AttentionGateOptions& o)
    : conv_g_(child<nn::Conv2d>("W_g.0", build, o.channels, o.hidden, ops::Sizes{o.kernel},
                                same_size(o))),
      norm_g_(child<nn::BatchNorm2d>("W_g.1", build, o.hidden)),
      conv_x_(child<nn::Conv2d>("W_x.0", build, o.channels, o.hidden, ops::Sizes{o.kernel},
                                same_size(o))),
      norm_x_(child<nn::BatchNorm2d>("W_x.1", build, o.hidden)),
      conv_psi_(child<nn::Conv2d>("psi.0", build, o.hidden, std::int64_t{1}, ops::Sizes{1})),
      norm_psi_(child<nn::BatchNorm2d>("psi.1", build, std::int64_t{1})) {}

Tensor AttentionGate::operator()(const Tensor& g, const Tensor& x) {
  const auto scope = enter();
  const Tensor sum = norm_g_.with_relu(conv_g_(g), norm_x_(conv_x_(x)));
  return ops::mul(x, ops::sigmoid(norm_psi_(conv_psi_(sum))));
}

}  // namespace fovea::models
