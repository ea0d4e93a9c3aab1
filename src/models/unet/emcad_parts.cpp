#include "models/unet/emcad_parts.h"

#include <fmt/format.h>

#include <numeric>

#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

// Channel g c / groups + i goes to i groups + g, so that the next layer mixes the groups.
Tensor shuffled(const Tensor& x, std::int64_t groups) {
  const Shape& s = x.shape();
  const Tensor split = ops::reshape(x, {s[0], groups, s[1] / groups, s[2], s[3]});
  return ops::reshape(ops::transpose(split, 1, 2), s);
}

}  // namespace

ChannelAttention::ChannelAttention(const nn::Build& build, std::int64_t channels,
                                   std::int64_t ratio)
    : fc1_(child<nn::Conv2d>("fc1", build, channels, std::max<std::int64_t>(1, channels / ratio),
                             ops::Sizes{1}, ops::ConvOptions{}, false)),
      fc2_(child<nn::Conv2d>("fc2", build, std::max<std::int64_t>(1, channels / ratio), channels,
                             ops::Sizes{1}, ops::ConvOptions{}, false)) {}

Tensor ChannelAttention::forward(const Tensor& x) {
  const auto weigh = [&](const Tensor& pooled) { return fc2_(ops::relu(fc1_(pooled))); };
  return ops::sigmoid(
      ops::add(weigh(ops::adaptive_avg_pool(x, {1})), weigh(ops::adaptive_max_pool(x, {1}))));
}

SpatialAttention::SpatialAttention(const nn::Build& build, std::int64_t kernel)
    : conv_(child<nn::Conv2d>("conv", build, std::int64_t{2}, std::int64_t{1}, ops::Sizes{kernel},
                              ops::ConvOptions{.padding = {kernel / 2}}, false)) {}

Tensor SpatialAttention::forward(const Tensor& x) {
  return ops::sigmoid(conv_(ops::concat({ops::mean(x, {1}, true), ops::max(x, {1}, true)}, 1)));
}

MultiScaleConv::MultiScaleConv(const nn::Build& build, std::int64_t in, std::int64_t out,
                               const MultiScaleOptions& o)
    : o_(o), out_(out) {
  const std::int64_t hidden = o.expansion * in;
  expand_ = add_conv("pconv1", build, in, hidden, 1, false);
  for (std::size_t i = 0; i < o.kernels.size(); ++i)
    branches_.push_back(
        add_conv(fmt::format("msdc.dwconvs.{}", i), build, hidden, hidden, o.kernels[i], true));
  const std::int64_t combined = o.add ? hidden : hidden * std::ssize(o.kernels);
  project_ = add_conv("pconv2", build, combined, out, 1, false);
  if (in != out)
    shortcut_ =
        &child<nn::Conv2d>("conv1x1", build, in, out, ops::Sizes{1}, ops::ConvOptions{}, false);
}

MultiScaleConv::Normed MultiScaleConv::add_conv(const std::string& name, const nn::Build& build,
                                                std::int64_t in, std::int64_t out,
                                                std::int64_t kernel, bool depthwise) {
  const ops::ConvOptions options{.padding = {kernel / 2}, .groups = depthwise ? in : 1};
  return {&child<nn::Conv2d>(name + ".0", build, in, out, ops::Sizes{kernel}, options, false),
          &child<nn::BatchNorm2d>(name + ".1", build, out)};
}

Tensor MultiScaleConv::activated(const Normed& layer, const Tensor& x) const {
  const Tensor y = (*layer.conv)(x);
  if (o_.activation == EmcadActivation::kRelu) return layer.norm->with_relu(y);
  return ops::clamp((*layer.norm)(y), 0, 6);
}

Tensor MultiScaleConv::forward(const Tensor& x) {
  Tensor seen = activated(expand_, x);
  std::vector<Tensor> results;
  for (const Normed& branch : branches_) {
    results.push_back(activated(branch, seen));
    if (!o_.parallel) seen = ops::add(seen, results.back());
  }
  Tensor combined = results.front();
  if (!o_.add) {
    combined = ops::concat(results, 1);
  } else {
    for (std::size_t i = 1; i < results.size(); ++i) combined = ops::add(combined, results[i]);
  }
  const Tensor mixed = shuffled(combined, std::gcd(combined.size(1), out_));
  const Tensor y = (*project_.norm)((*project_.conv)(mixed));
  return ops::add(shortcut_ != nullptr ? (*shortcut_)(x) : x, y);
}

UpConv::UpConv(const nn::Build& build, std::int64_t in, std::int64_t out)
    : dwc_(child<nn::Conv2d>("up_dwc.1", build, in, in, ops::Sizes{3},
                             ops::ConvOptions{.padding = {1}, .groups = in}, false)),
      norm_(child<nn::BatchNorm2d>("up_dwc.2", build, in)),
      pwc_(child<nn::Conv2d>("pwc.0", build, in, out, ops::Sizes{1})) {}

// (The public code shuffles channels in as many groups as there are channels, which changes
// nothing.)
Tensor UpConv::forward(const Tensor& x) {
  const Tensor large = ops::resize(x, {2 * x.size(2), 2 * x.size(3)}, ops::Interpolation::kNearest);
  return pwc_(norm_.with_relu(dwc_(large)));
}

}  // namespace fovea::models
