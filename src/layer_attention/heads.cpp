#include "layer_attention/heads.h"

#include "autograd/graph.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace fovea::layer_attention {

std::int64_t HeadOptions::head_dim_for(Family family) const {
  return head_dim.value_or(family == Family::kImageNet ? 32 : 16);
}

schema::Fields<HeadOptions> head_fields(const HeadOptions& defaults) {
  using O = HeadOptions;
  return schema::Fields<O>(defaults)
      .add("head_dim", &O::head_dim, nn::channel_count(),
           "channels of a head; null = 16 in networks for small images and for segmentation, 32 "
           "for ImageNet")
      .add("drop_path", &O::drop_path, schema::in_range(0, 0.99),
           "probability of dropping the result for a whole sample in training")
      .add("relu_after_bn", &O::relu_after_bn,
           "ReLU behind the batch norm of the result; null = as published");
}

Tensor stack(const std::vector<Tensor>& layers) {
  return layers.size() == 1 ? layers.front() : ops::concat(layers, 2);
}

Tensor per_channel(const Tensor& x, std::int64_t channels) {
  const std::int64_t b = x.size(0), heads = x.size(1);
  const Tensor wide = ops::expand(ops::reshape(x, {b, heads, 1}), {b, heads, channels / heads});
  return ops::reshape(wide, {b, channels});
}

std::unique_ptr<nn::Conv2d> make_value_conv(const nn::Build& build, std::int64_t channels) {
  return std::make_unique<nn::Conv2d>(build, channels, channels, ops::Sizes{3},
                                      ops::ConvOptions{.padding = {1}, .groups = channels}, false);
}

Projections::Projections(const nn::Build& build, std::int64_t channels, std::int64_t num_heads,
                         bool with_keys)
    : num_heads_(num_heads),
      head_dim_(channels / num_heads),
      q_(child<ChannelConv>("Wq", build, channel_kernel(channels))),
      v_(child("Wv", make_value_conv(build.at("Wv"), channels))) {
  if (with_keys) k_ = &child<ChannelConv>("Wk", build, channel_kernel(channels));
}

Tensor Projections::split(const Tensor& y) const {
  return ops::reshape(y, {y.size(0), num_heads_, 1, head_dim_});
}

Tensor Projections::value(const Tensor& x) {
  const Tensor v = v_(x);
  return ops::reshape(v, {x.size(0), num_heads_, 1, head_dim_ * x.size(2) * x.size(3)});
}

Tensor Projections::gated_value(const Tensor& x, const Tensor& gate) const {
  const std::int64_t b = x.size(0), c = x.size(1), planes = b * c;
  // A depthwise convolution with kernels of its own for every sample.
  const Tensor scale = per_channel(ops::cast(gate, compute_dtype(x.dtype())), c);
  const Tensor kernels =
      ops::mul(ops::reshape(v_.weight(), {1, c, 9}), ops::reshape(scale, {b, c, 1}));
  const Tensor y =
      ops::conv(ops::reshape(x, {1, planes, x.size(2), x.size(3)}),
                ops::reshape(kernels, {planes, 1, 3, 3}), {}, {.padding = {1}, .groups = planes});
  autograd::count_macs("gate", x.numel());
  return ops::reshape(y, x.shape());
}

Tensor Projections::combine(const Tensor& weights, const Tensor& values, const Tensor& x) const {
  return ops::reshape(ops::matmul(weights, values), x.shape());
}

Headwise::Headwise(const char* name, const Slot& slot, const HeadOptions& options, bool relu,
                   bool with_keys)
    : p_(child<Projections>("", slot.build, slot.channels,
                            heads_of(name, slot.channels, options.head_dim_for(slot.family)),
                            with_keys)),
      join_{.relu = options.relu_after_bn.value_or(relu), .drop_path = options.drop_path},
      slot_(slot) {}

KeysAndValues Headwise::recomputed(const History& seen,
                                   const std::function<Tensor(const Tensor&)>& key) {
  std::vector<Tensor> keys, values;
  for (std::size_t i = 0; i < seen.maps.size(); ++i) {
    keys.push_back(key(seen.pooled[i]));
    values.push_back(p_.value(seen.maps[i]));
  }
  return {stack(keys), stack(values)};
}

std::array<Names, 3> mrla_names() {
  return {{{.stage = "stages", .core = "mrla.mrla", .norm = "bn_mrla"},
           {.stage = "stages", .core = "mrla.mrla", .norm = "bn_mrla"},
           {.blocks = "layers", .core = "mrla.mrla", .norm = "bn_mrla"}}};
}

}  // namespace fovea::layer_attention
