#include "models/resnet/residual_block.h"

#include <fmt/format.h>

#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

class Projection final : public nn::UnaryModule {
 public:
  Projection(const nn::Build& build, std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv_(child<nn::Conv2d>("0", build, in, out, ops::Sizes{1},
                                ops::ConvOptions{.stride = {stride}}, false)),
        bn_(child<nn::BatchNorm2d>("1", build, out)) {}
  std::string type() const override { return "Projection"; }

 protected:
  Tensor forward(const Tensor& x) override { return bn_(conv_(x)); }

 private:
  nn::Conv2d& conv_;
  nn::BatchNorm2d& bn_;
};

bool needs_projection(const BlockOptions& o) {
  switch (o.shortcut) {
    case ShortcutKind::kZeroPad:
      return false;
    case ShortcutKind::kProjection:
      return o.stride != 1 || o.in != block_width(o.kind, o.planes);
    default:
      return true;
  }
}

}  // namespace

std::int64_t block_width(BlockKind kind, std::int64_t planes) {
  return kind == BlockKind::kBottleneck ? 4 * planes : planes;
}

std::vector<std::int64_t> inner_widths(BlockKind kind, std::int64_t planes) {
  return std::vector<std::int64_t>(kind == BlockKind::kBottleneck ? 2 : 1, planes);
}

ResidualBlock::ResidualBlock(const nn::Build& build, const BlockOptions& o) : options_(o) {
  const std::int64_t out = block_width(o.kind, o.planes);
  if (o.kind == BlockKind::kBottleneck) {
    add_layer(build, o.in + o.extra, o.planes, 1, 1, false);
    add_layer(build, o.planes, o.planes, 3, o.stride, false);
    add_layer(build, o.planes, out, 1, 1, true);
  } else {
    add_layer(build, o.in + o.extra, out, 3, o.stride, false);
    add_layer(build, out, out, 3, 1, true);
  }
  if (needs_projection(o)) {
    downsample_ = &child<Projection>("downsample", build, o.in, out, o.stride);
  }
}

std::string ResidualBlock::type() const {
  return options_.kind == BlockKind::kBottleneck ? "Bottleneck" : "BasicBlock";
}

void ResidualBlock::add_layer(const nn::Build& build, std::int64_t in, std::int64_t out,
                              std::int64_t kernel, std::int64_t stride, bool last) {
  const std::size_t number = layers_.size() + 1;
  const ops::ConvOptions conv{.stride = {stride}, .padding = {kernel / 2}};
  const nn::BatchNormOptions bn{.initial_weight = last && options_.zero_init_last ? 0.0 : 1.0};
  nn::Conv2d& made = child<nn::Conv2d>(fmt::format("conv{}", number), build, in, out,
                                       ops::Sizes{kernel}, conv, false);
  layers_.push_back({made, child<nn::BatchNorm2d>(fmt::format("bn{}", number), build, out, bn)});
}

Tensor ResidualBlock::shortcut(const Tensor& x) {
  if (downsample_ != nullptr) return (*downsample_)(x);
  const std::int64_t added = block_width(options_.kind, options_.planes) - options_.in;
  // A window of one pixel picks every stride-th.
  const Tensor y = options_.stride == 1 ? x : ops::avg_pool(x, {1}, {options_.stride});
  return added == 0 ? y : ops::pad(y, {{0, 0}, {0, added}, {0, 0}, {0, 0}});
}

void ResidualBlock::own(std::unique_ptr<layer_attention::Attached> attention) {
  attention_ = &child("", std::move(attention));
}

Tensor ResidualBlock::forward(const Tensor& x, const BlockContext& context) {
  Tensor y = context.extra.defined() ? ops::concat({x, context.extra}, 1) : x;
  std::vector<Tensor> inner;
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    y = layers_[i].conv(y);
    y = layers_[i].bn.with_relu(y);
    if (attention_ != nullptr && attention_->reads_inner()) inner.push_back(y);
  }
  y = layers_.back().conv(y);
  const Tensor by_pass = shortcut(x);
  if (attention_ != nullptr && attention_->on_branch()) {
    const Tensor branch =
        (*attention_)({.x = layers_.back().bn(y), .shortcut = by_pass, .inner = std::move(inner)},
                      *context.state, context.probe);
    return ops::relu(ops::add(branch, by_pass));
  }
  y = layers_.back().bn.with_relu(y, by_pass);
  if (attention_ == nullptr) return y;
  return (*attention_)({.x = y, .shortcut = by_pass, .inner = std::move(inner)}, *context.state,
                       context.probe);
}

}  // namespace fovea::models
