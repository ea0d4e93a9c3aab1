// Convolutional block attention: a gate of channels, then one of places. kcla 2.6.

#include "layer_attention/gated_channels.h"
#include "nn/convolution.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Slot;

enum class Pool { kAverage, kMax };

struct CbamOptions {
  std::int64_t reduction = 16;
  std::vector<Pool> pool = {Pool::kAverage, Pool::kMax};
  bool spatial = true;
  std::int64_t spatial_kernel = 7;
  double bn_momentum = 0.01;
};

const layer_attention::Info kCbam{
    .title = "Convolutional block attention (CBAM)",
    .source = "kcla 2.6",
    .names = {{{.core = "cbam"}, {.core = "cbam"}, {.blocks = "layers", .core = "cbam"}}}};

class ChannelGate final : public nn::UnaryModule {
 public:
  ChannelGate(const nn::Build& build, std::int64_t channels, const CbamOptions& o)
      : pools_(o.pool),
        down_(child<nn::Linear>("mlp.1", build, channels,
                                std::max<std::int64_t>(1, channels / o.reduction))),
        up_(child<nn::Linear>("mlp.3", build, std::max<std::int64_t>(1, channels / o.reduction),
                              channels)) {}
  std::string type() const override { return "ChannelGate"; }

 protected:
  Tensor forward(const Tensor& x) override {
    Tensor sum;
    for (const Pool pool : pools_) {
      const Tensor y = pool == Pool::kAverage
                           ? ops::mean(x, {2, 3})
                           : ops::reshape(ops::adaptive_max_pool(x, {1}), {x.size(0), x.size(1)});
      const Tensor z = up_(ops::relu(down_(y)));
      sum = sum.defined() ? ops::add(sum, z) : z;
    }
    return ops::mul(x, layer_attention::channel_factor(ops::sigmoid(sum)));
  }

 private:
  std::vector<Pool> pools_;
  nn::Linear& down_;
  nn::Linear& up_;
};

class SpatialGate final : public nn::UnaryModule {
 public:
  SpatialGate(const nn::Build& build, const CbamOptions& o)
      : conv_(child<nn::Conv2d>("spatial.conv", build, 2, 1, ops::Sizes{o.spatial_kernel},
                                ops::ConvOptions{.padding = {o.spatial_kernel / 2}}, false)),
        bn_(child<nn::BatchNorm2d>("spatial.bn", build, 1,
                                   nn::BatchNormOptions{.momentum = o.bn_momentum})) {}
  std::string type() const override { return "SpatialGate"; }

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor both = ops::concat({max_over_channels(x), ops::mean(x, {1}, true)}, 1);
    return ops::mul(x, ops::sigmoid(bn_(conv_(both))));
  }

 private:
  // Pooling with a window of all channels gives the gradient to the first maximum.
  static Tensor max_over_channels(const Tensor& x) {
    const std::int64_t places = x.size(2) * x.size(3);
    const Tensor rows = ops::reshape(x, {x.size(0), 1, x.size(1), places});
    return ops::reshape(ops::max_pool(rows, {x.size(1), 1}), {x.size(0), 1, x.size(2), x.size(3)});
  }

  nn::Conv2d& conv_;
  nn::BatchNorm2d& bn_;
};

class Cbam final : public layer_attention::LayerAttention {
 public:
  Cbam(const Slot& slot, const CbamOptions& o)
      : channel_(child<ChannelGate>("ChannelGate", slot.build, slot.channels, o)) {
    if (o.spatial) spatial_ = &child<SpatialGate>("SpatialGate", slot.build, o);
  }
  std::string type() const override { return "CBAM"; }
  layer_attention::Join join() const override { return {.on_branch = true, .norm = false}; }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State&,
                 attention::Probe*) override {
    const Tensor y = channel_(in.x);
    return spatial_ == nullptr ? y : (*spatial_)(y);
  }

 private:
  ChannelGate& channel_;
  SpatialGate* spatial_ = nullptr;
};

}  // namespace

FOVEA_LAYER_ATTENTION(cbam, Cbam, kCbam,
                      fovea::schema::Fields<CbamOptions>{}
                          .add("reduction", &CbamOptions::reduction, fovea::schema::at_least(1),
                               "by how much the hidden layer of the channel gate is narrower")
                          .add_enum("pool", &CbamOptions::pool,
                                    {{"avg", Pool::kAverage}, {"max", Pool::kMax}},
                                    "how the channel gate sees a channel")
                          .add("spatial", &CbamOptions::spatial, "the gate of places as well")
                          .add("spatial_kernel", &CbamOptions::spatial_kernel,
                               fovea::schema::at_least(1), "kernel size of the gate of places, odd")
                          .add("bn_momentum", &CbamOptions::bn_momentum,
                               fovea::schema::in_range(0, 1),
                               "share of the batch in its running statistics"))
