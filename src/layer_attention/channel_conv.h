// From feature maps to queries and keys: pooling, and convolution along the channels. kcla 2.0.
#pragma once

#include "nn/module.h"

namespace fovea::layer_attention {

/// Kernel size of a convolution along c channels: |(log2(c) + 1) / 2| cut to an integer, made odd.
std::int64_t channel_kernel(std::int64_t channels);

/// Mean over space: (b, c, h, w) -> (b, c).
Tensor pooled(const Tensor& x);

enum class KernelInit {
  kTorch,   // uniform in +-1 / sqrt(k)
  kXavier,  // uniform in +-sqrt(3 / k)
};

/// f_Q and f_K: the channels as a sequence with zeros at both ends, one kernel without bias:
/// (b, c) -> (b, c). It reaches across heads. Parameter: weight (1, 1, k), k odd.
class ChannelConv final : public nn::UnaryModule {
 public:
  ChannelConv(const nn::Build& build, std::int64_t kernel, KernelInit init = KernelInit::kTorch);
  std::string type() const override { return "ChannelConv"; }

 protected:
  Tensor forward(const Tensor& y) override;

 private:
  Tensor weight_;
};

/// A matrix (out, in) that starts uniform in +-sqrt(6 / (in + out)).
Tensor init_xavier(const nn::Build& build, std::int64_t out, std::int64_t in);

}  // namespace fovea::layer_attention
