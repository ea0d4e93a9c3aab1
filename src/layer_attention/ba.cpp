// Bridge attention (BA-Net, ECCV 2022): the gate of channels also sees the maps between the block's
// convolutions. kcla has numbers alone (Table III, row "+BA"); this is its public code's form.

#include <fmt/format.h>

#include "base/error.h"
#include "layer_attention/channel_conv.h"
#include "layer_attention/gated_channels.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Slot;

struct BaOptions {
  std::int64_t reduction = 16;
};

const layer_attention::Info kBa{
    .title = "Bridge attention (BA-Net)",
    .source = "kcla Table III, arXiv 2112.04150",
    .names = {{{.core = "ba"}, {.core = "ba"}, {.blocks = "layers", .core = "ba"}}}};

// Channel means of one map to the hidden layer: BN(W mean(x)), (b, c, h, w) -> (b, hidden).
class BaFusion final : public nn::UnaryModule {
 public:
  BaFusion(const nn::Build& build, std::int64_t channels, std::int64_t hidden)
      : fc_(child<nn::Linear>("0", build, channels, hidden, false)),
        bn_(child<nn::BatchNorm2d>("1", build, hidden)) {}
  std::string type() const override { return "BaFusion"; }

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor y = fc_(layer_attention::pooled(x));
    return ops::reshape(bn_(layer_attention::channel_factor(y)), y.shape());
  }

 private:
  nn::Linear& fc_;
  nn::BatchNorm2d& bn_;
};

// sigmoid(W ReLU(sum of the fused means of all maps)). Batch norms are over the samples alone: in
// training mode a batch needs two of them.
class Ba final : public layer_attention::GatedChannels {
 public:
  Ba(const Slot& slot, const BaOptions& o) {
    const std::int64_t hidden = std::max<std::int64_t>(1, slot.channels / o.reduction);
    for (std::size_t i = 0; i < slot.inner.size(); ++i) {
      inner_.push_back(
          &child<BaFusion>(fmt::format("pre_fusions.{}", i), slot.build, slot.inner[i], hidden));
    }
    last_ = &child<BaFusion>("cur_fusion", slot.build, slot.channels, hidden);
    up_ = &child<nn::Linear>("generation.1", slot.build, hidden, slot.channels, false);
  }
  std::string type() const override { return "BA"; }
  layer_attention::Join join() const override {
    return {.on_branch = true, .inner = true, .norm = false};
  }

 protected:
  Tensor gate(const layer_attention::Layer& in, layer_attention::State&) override {
    FOVEA_CHECK(in.inner.size() == inner_.size(), ShapeError,
                fmt::format("ba: {} maps from inside the block; expected {}", in.inner.size(),
                            inner_.size()));
    Tensor sum = (*last_)(in.x);
    for (std::size_t i = 0; i < inner_.size(); ++i) sum = ops::add(sum, (*inner_[i])(in.inner[i]));
    return ops::sigmoid((*up_)(ops::relu(sum)));
  }

 private:
  std::vector<BaFusion*> inner_;
  BaFusion* last_ = nullptr;
  nn::Linear* up_ = nullptr;
};

}  // namespace

FOVEA_LAYER_ATTENTION(ba, Ba, kBa,
                      fovea::schema::Fields<BaOptions>{}.add(
                          "reduction", &BaOptions::reduction, fovea::schema::at_least(1),
                          "by how much the hidden layer is narrower"))
