// Global context block (GCNet): one weighted mean over all places, put through a bottleneck, is
// added to every place. kcla has numbers alone (Table III, rows "+GC"); this is mmcv's ContextBlock
// (attention pooling, channel_add), behind the last convolution of a residual block.

#include <cmath>

#include "layer_attention/context.h"
#include "layer_attention/gated_channels.h"
#include "nn/convolution.h"
#include "nn/init.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Slot;

struct GcOptions : layer_attention::ContextOptions {
  std::int64_t reduction = 16;
};

const layer_attention::Info kGc{.title = "Global context block (GCNet)",
                                .source = "kcla Table III, arXiv 1904.11492",
                                .names = layer_attention::names_inside("context_block")};

// x + W2 ReLU(LN(W1 c)), c = sum_j a_j x_j, a = softmax over all places of a 1x1 convolution.
class ContextBlock final : public nn::Module {
 public:
  ContextBlock(const nn::Build& outer, std::int64_t channels, std::int64_t hidden)
      : mask_(child<nn::Conv2d>("conv_mask", outer, channels, 1, ops::Sizes{1})) {
    // He's normal values by the inputs; the bottleneck has PyTorch's own, and its end zeros.
    const double stddev = std::sqrt(2.0 / static_cast<double>(channels));
    const nn::Build mask = outer.at("conv_mask").at("weight");
    layer_attention::start_at_zero(mask_);
    ops::copy_into(nn::init_normal(mask, mask_.weight().shape(), stddev), mask_.weight());
    nn::Build build = outer;
    build.init = nn::Init::kTorch;
    down_ = &child<nn::TokenPointwise>("channel_add_conv.0", build, channels, hidden);
    const Shape norm{hidden, 1, 1};  // as PyTorch's LayerNorm([hidden, 1, 1])
    norm_weight_ = parameter("channel_add_conv.1.weight", nn::init_constant(build, norm, 1));
    norm_bias_ = parameter("channel_add_conv.1.bias", nn::init_constant(build, norm, 0));
    up_ = &child<nn::TokenPointwise>("channel_add_conv.3", build, hidden, channels);
    layer_attention::start_at_zero(*up_);
  }
  std::string type() const override { return "ContextBlock"; }

  Tensor operator()(const Tensor& x, attention::Probe* probe) {
    const auto scope = enter();
    const std::int64_t b = x.size(0), c = x.size(1), places = x.size(2) * x.size(3);
    const Tensor a = ops::softmax(ops::reshape(mask_(x), {b, 1, places}));
    if (probe != nullptr) probe->record("context", ops::reshape(a, {b, 1, x.size(2), x.size(3)}));
    const Tensor context = ops::matmul(a, ops::reshape(x, {b, c, places}), false, true);
    const Tensor y = ops::layer_norm((*down_)(context), ops::reshape(norm_weight_, {-1}),
                                     ops::reshape(norm_bias_, {-1}), 1e-5);
    const Tensor added = ops::reshape((*up_)(ops::relu(y)), {b, c});
    return ops::add(x, layer_attention::channel_factor(added));
  }

 private:
  nn::Conv2d& mask_;
  nn::TokenPointwise* down_ = nullptr;
  Tensor norm_weight_, norm_bias_;
  nn::TokenPointwise* up_ = nullptr;
};

class Gc final : public layer_attention::LayerAttention {
 public:
  Gc(const Slot& slot, const GcOptions& o) {
    if (!layer_attention::stands_in(o, slot)) return;
    block_ = &child<ContextBlock>("", slot.build, slot.channels,
                                  std::max<std::int64_t>(1, slot.channels / o.reduction));
  }
  std::string type() const override { return "GC"; }
  layer_attention::Join join() const override {
    // Where there is no block, the residual block's last steps stay one.
    return {.on_branch = block_ != nullptr, .norm = false, .replace = true};
  }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State&,
                 attention::Probe* probe) override {
    return block_ == nullptr ? in.x : (*block_)(in.x, probe);
  }

 private:
  ContextBlock* block_ = nullptr;
};

}  // namespace

FOVEA_LAYER_ATTENTION(gc, Gc, kGc,
                      fovea::schema::Fields<GcOptions>{}
                          .include(layer_attention::context_fields())
                          .add("reduction", &GcOptions::reduction, fovea::schema::at_least(1),
                               "by how much the bottleneck is narrower"))
