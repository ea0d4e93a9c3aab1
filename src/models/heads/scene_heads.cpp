#include "models/heads/scene_heads.h"

#include <fmt/format.h>

#include <bit>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

nn::Build as_head(nn::Build build) {
  build.init = nn::Init::kHead;
  return build;
}

Tensor resized_as(const Tensor& x, const Tensor& like) {
  return ops::resize(x, {like.size(2), like.size(3)}, ops::Interpolation::kLinear);
}

void check_maps(const char* head, std::size_t given, std::size_t expected) {
  FOVEA_CHECK(given == expected, ShapeError,
              fmt::format("{}: {} maps; expected {}", head, given, expected));
}

}  // namespace

SceneHead::SceneHead(const nn::Build& build, std::int64_t channels, std::int64_t num_classes)
    : dropout_(child<nn::ChannelDropout>("dropout", build, kDropout)),
      conv_seg_(
          child<nn::Conv2d>("conv_seg", as_head(build), channels, num_classes, ops::Sizes{1})) {}

SegFpnHead::SegFpnHead(const nn::Build& build, const std::vector<PyramidLevel>& in,
                       std::int64_t channels, std::int64_t num_classes)
    : SceneHead(build, channels, num_classes) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t times = in[i].stride / in[0].stride;
    FOVEA_CHECK(times * in[0].stride == in[i].stride &&
                    std::has_single_bit(static_cast<std::uint64_t>(times)),
                ConfigError,
                fmt::format("fpn head: maps of strides {} and {}; expected a power of 2 between "
                            "them",
                            in[0].stride, in[i].stride));
    Scale scale{.enlarges = times > 1};
    const int steps = std::max(1, std::countr_zero(static_cast<std::uint64_t>(times)));
    for (int k = 0; k < steps; ++k)  // the numbers between are those of the upsampling
      scale.convs.push_back(&child<ConvModule>(fmt::format("scale_heads.{}.{}", i, 2 * k), build,
                                               k == 0 ? in[i].channels : channels, channels,
                                               std::int64_t{3}));
    scales_.push_back(std::move(scale));
  }
}

Tensor SegFpnHead::operator()(const std::vector<Tensor>& maps) {
  const auto scope = enter();
  check_maps("fpn head", maps.size(), scales_.size());
  Tensor sum;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    Tensor x = maps[i];
    for (ConvModule* conv : scales_[i].convs) {
      x = (*conv)(x);
      if (scales_[i].enlarges)
        x = ops::resize(x, {2 * x.size(2), 2 * x.size(3)}, ops::Interpolation::kLinear);
    }
    sum = i == 0 ? x : ops::add(sum, resized_as(x, sum));
  }
  return classify(sum);
}

UperHead::UperHead(const nn::Build& build, const UperHeadOptions& o)
    : SceneHead(build, o.channels, o.num_classes), pool_scales_(o.pool_scales) {
  const std::size_t levels = o.in_channels.size();
  FOVEA_CHECK(levels >= 2, ConfigError,
              fmt::format("uper head: {} maps; expected two at least", levels));
  const std::int64_t coarsest = o.in_channels.back();
  for (std::size_t i = 0; i < o.pool_scales.size(); ++i)
    psp_modules_.push_back(&child<ConvModule>(fmt::format("psp_modules.{}.1", i), build, coarsest,
                                              o.channels, std::int64_t{1}));
  bottleneck_ =
      &child<ConvModule>("bottleneck", build, coarsest + std::ssize(o.pool_scales) * o.channels,
                         o.channels, std::int64_t{3});
  for (std::size_t i = 0; i + 1 < levels; ++i) {
    lateral_convs_.push_back(&child<ConvModule>(fmt::format("lateral_convs.{}", i), build,
                                                o.in_channels[i], o.channels, std::int64_t{1}));
    fpn_convs_.push_back(&child<ConvModule>(fmt::format("fpn_convs.{}", i), build, o.channels,
                                            o.channels, std::int64_t{3}));
  }
  fpn_bottleneck_ =
      &child<ConvModule>("fpn_bottleneck", build, static_cast<std::int64_t>(levels) * o.channels,
                         o.channels, std::int64_t{3});
}

Tensor UperHead::pooled(const Tensor& coarsest) {
  std::vector<Tensor> parts{coarsest};
  for (std::size_t i = 0; i < psp_modules_.size(); ++i) {
    const Tensor means = ops::adaptive_avg_pool(coarsest, {pool_scales_[i]});
    parts.push_back(resized_as((*psp_modules_[i])(means), coarsest));
  }
  return (*bottleneck_)(ops::concat(parts, 1));
}

Tensor UperHead::operator()(const std::vector<Tensor>& maps) {
  const auto scope = enter();
  const std::size_t top = lateral_convs_.size();
  check_maps("uper head", maps.size(), top + 1);
  std::vector<Tensor> levels(maps.size());
  levels[top] = pooled(maps[top]);
  for (std::size_t i = top; i-- > 0;) {
    const Tensor lateral = (*lateral_convs_[i])(maps[i]);
    levels[i] = ops::add(lateral, resized_as(levels[i + 1], lateral));
  }
  // The pooled map has no further convolution.
  for (std::size_t i = 0; i < top; ++i) levels[i] = (*fpn_convs_[i])(levels[i]);
  for (std::size_t i = 1; i <= top; ++i) levels[i] = resized_as(levels[i], levels[0]);
  return classify((*fpn_bottleneck_)(ops::concat(levels, 1)));
}

FcnHead::FcnHead(const nn::Build& build, std::int64_t in, std::int64_t channels,
                 std::int64_t num_convs, std::int64_t num_classes)
    : SceneHead(build, channels, num_classes) {
  FOVEA_CHECK(num_convs >= 1, ConfigError,
              fmt::format("fcn head: {} convolutions; expected one at least", num_convs));
  for (std::int64_t i = 0; i < num_convs; ++i)
    convs_.push_back(&child<ConvModule>(fmt::format("convs.{}", i), build, i == 0 ? in : channels,
                                        channels, std::int64_t{3}));
}

Tensor FcnHead::operator()(const Tensor& map) {
  const auto scope = enter();
  Tensor x = map;
  for (ConvModule* conv : convs_) x = (*conv)(x);
  return classify(x);
}

}  // namespace fovea::models
