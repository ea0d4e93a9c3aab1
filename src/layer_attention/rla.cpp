#include "layer_attention/rla.h"

#include "ops/elementwise.h"

namespace fovea::layer_attention {

Aggregation::Aggregation(const nn::Build& build, std::int64_t channels, std::int64_t hidden,
                         const std::string& conv_out, const std::string& recurrent)
    : conv_out_(child<nn::Conv2d>(conv_out, build, channels, hidden, ops::Sizes{1},
                                  ops::ConvOptions{}, false)),
      recurrent_(child<nn::Conv2d>(recurrent, build, hidden, hidden, ops::Sizes{3},
                                   ops::ConvOptions{.padding = {1}}, false)) {}

Tensor Aggregation::operator()(const Tensor& h, const Tensor& x, nn::BatchNorm2d& bn) {
  const auto scope = enter();
  return recurrent_(ops::tanh(bn(ops::add(h, conv_out_(x)))));
}

}  // namespace fovea::layer_attention
