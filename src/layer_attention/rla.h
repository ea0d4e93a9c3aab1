// Recurrent layer aggregation (RLA_g): a map of few channels that runs through the whole network
// and that every block reads and writes. kcla 2.7. Since blocks read it, it has a backbone of its
// own (models/resnet/rla_backbone.h) and no entry in the registry.
#pragma once

#include "nn/convolution.h"
#include "nn/norm.h"

namespace fovea::layer_attention {

/// What the blocks of a stage share: CO (1x1, `conv_out`) and RC (3x3, `recurrent`), no biases.
/// The names are those of the two convolutions in the parent.
class Aggregation final : public nn::Module {
 public:
  Aggregation(const nn::Build& build, std::int64_t channels, std::int64_t hidden,
              const std::string& conv_out, const std::string& recurrent);
  std::string type() const override { return "Aggregation"; }
  /// RC(tanh(BN(h + CO(x)))): h (b, hidden, h, w), x (b, channels, h, w), -> like h. kcla 2.7.
  Tensor operator()(const Tensor& h, const Tensor& x, nn::BatchNorm2d& bn);

 private:
  nn::Conv2d& conv_out_;
  nn::Conv2d& recurrent_;
};

}  // namespace fovea::layer_attention
