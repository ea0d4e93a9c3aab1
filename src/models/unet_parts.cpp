#include "models/unet_parts.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/counting.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

// Half of a difference, rounded down, also below zero.
std::int64_t half(std::int64_t difference) {
  return difference >= 0 ? difference / 2 : -((1 - difference) / 2);
}

}  // namespace

DoubleConv::DoubleConv(const nn::Build& build, std::int64_t in, std::int64_t out)
    : conv1_(child<nn::Conv2d>("double_conv.0", build, in, out, ops::Sizes{3},
                               ops::ConvOptions{.padding = {1}})),
      bn1_(child<nn::BatchNorm2d>("double_conv.1", build, out)),
      conv2_(child<nn::Conv2d>("double_conv.3", build, out, out, ops::Sizes{3},
                               ops::ConvOptions{.padding = {1}})),
      bn2_(child<nn::BatchNorm2d>("double_conv.4", build, out)) {}

Tensor DoubleConv::forward(const Tensor& x) {
  const Tensor y = bn1_.with_relu(conv1_(x));
  return bn2_.with_relu(conv2_(y));
}

Tensor doubled(const Tensor& x) {
  return ops::resize(x, {2 * x.size(2), 2 * x.size(3)}, ops::Interpolation::kLinear, true);
}

Tensor with_skip(const Tensor& skip, const Tensor& x) {
  const std::int64_t down = skip.size(2) - x.size(2);
  const std::int64_t right = skip.size(3) - x.size(3);
  const bool fits = down == 0 && right == 0;
  const Tensor y = fits ? x
                        : ops::pad(x, {{0, 0},
                                       {0, 0},
                                       {half(down), down - half(down)},
                                       {half(right), right - half(right)}});
  return ops::concat({skip, y}, 1);
}

Up::Up(const nn::Build& build, std::int64_t in, std::int64_t out)
    : conv_(child<DoubleConv>("conv", build, in, out)) {}

Tensor Up::operator()(const Tensor& x, const Tensor& skip) {
  const auto scope = enter();
  return conv_(with_skip(skip, doubled(x)));
}

SegmentationNetwork::SegmentationNetwork(const nn::Build& build, const DenseOptions& options,
                                         const DataShape& data, std::int64_t reduction)
    : activations_(build.activation_dtype()),
      in_chans_(options.in_chans.value_or(data.channels)),
      num_classes_(options.num_classes.value_or(data.num_classes)) {
  FOVEA_CHECK(num_classes_ > 0, ConfigError,
              "model.num_classes: not given, and the data set has no classes");
  const auto size = options.img_size.value_or(std::array<std::int64_t, 2>{data.height, data.width});
  FOVEA_CHECK(data.height == 0 || (size[0] == data.height && size[1] == data.width), ConfigError,
              fmt::format("model.img_size: {} x {}, but the images of the data set are {} x {}",
                          size[0], size[1], data.height, data.width));
  FOVEA_CHECK(size[0] == 0 || (size[0] >= reduction && size[1] >= reduction), ConfigError,
              fmt::format("model: images of {} x {} are too small; this network needs at least "
                          "{} x {}",
                          size[0], size[1], reduction, reduction));
}

std::optional<std::int64_t> SegmentationNetwork::paper_macs(
    const std::vector<autograd::Event>& events) const {
  return module_hook_macs(events);
}

nn::Conv2d& SegmentationNetwork::add_head(const std::string& name, const nn::Build& build,
                                          std::int64_t in) {
  return child<nn::Conv2d>(name, build, in, num_classes_, ops::Sizes{1});
}

// The sigmoid is float32 in mixed precision too: bfloat16 rounds what is above 0.998 to 1, of whose
// complement the loss takes the logarithm.
Tensor SegmentationNetwork::forward(const Tensor& images, attention::Probe* probe) {
  const Tensor x = logits(ops::cast(images, activations_), probe);
  return ops::sigmoid(ops::cast(x, compute_dtype(x.dtype())));
}

}  // namespace fovea::models
