#include "layer_attention/channel_conv.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "ops/conv/convolution.h"
#include "ops/create.h"
#include "ops/shape.h"

namespace fovea::layer_attention {
namespace {

Tensor uniform(const nn::Build& build, const Shape& shape, double bound) {
  return ops::random_uniform(shape, -bound, bound, build.random, build.dtype, build.device);
}

}  // namespace

std::int64_t channel_kernel(std::int64_t channels) {
  const double half = std::abs((std::log2(static_cast<double>(channels)) + 1) / 2);
  const auto size = static_cast<std::int64_t>(half);
  return size % 2 == 1 ? size : size + 1;
}

Tensor pooled(const Tensor& x) {
  return ops::reshape(ops::adaptive_avg_pool(x, {1}), {x.size(0), x.size(1)});
}

ChannelConv::ChannelConv(const nn::Build& build, std::int64_t kernel, KernelInit init) {
  FOVEA_CHECK(kernel % 2 == 1, ConfigError,
              fmt::format("layer attention: kernel size {} along the channels; expected an odd one",
                          kernel));
  const double scale = init == KernelInit::kXavier ? 3 : 1;
  weight_ = parameter("weight", uniform(build.at("weight"), {1, 1, kernel},
                                        std::sqrt(scale / static_cast<double>(kernel))));
}

Tensor ChannelConv::forward(const Tensor& y) {
  const Tensor sequence = ops::reshape(y, {y.size(0), 1, y.size(1)});
  const Tensor moved = ops::conv(sequence, weight_, {}, {.padding = {weight_.size(2) / 2}});
  return ops::reshape(moved, y.shape());
}

Tensor init_xavier(const nn::Build& build, std::int64_t out, std::int64_t in) {
  return uniform(build, {out, in}, std::sqrt(6.0 / static_cast<double>(in + out)));
}

}  // namespace fovea::layer_attention
