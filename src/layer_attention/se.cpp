// Squeeze-and-excitation: channels are scaled by a small network of their means. kcla 2.6.

#include "layer_attention/channel_conv.h"
#include "layer_attention/gated_channels.h"
#include "nn/linear.h"
#include "ops/elementwise.h"

namespace {

using namespace fovea;
using layer_attention::Slot;

struct SeOptions {
  std::int64_t reduction = 16;
  bool skip_last_stage = false;
};

const layer_attention::Info kSe{
    .title = "Squeeze-and-excitation (SE)",
    .source = "kcla 2.6",
    .names = {{{.core = "se"}, {.core = "se"}, {.blocks = "layers", .core = "se"}}}};

class Se final : public layer_attention::GatedChannels {
 public:
  Se(const Slot& slot, const SeOptions& o)
      : skip_(o.skip_last_stage && slot.last_stage),
        down_(child<nn::Linear>("fc.0", slot.build, slot.channels, hidden(slot, o), false)),
        up_(child<nn::Linear>("fc.2", slot.build, hidden(slot, o), slot.channels, false)) {}
  std::string type() const override { return "SE"; }

 protected:
  Tensor gate(const layer_attention::Layer& in, layer_attention::State&) override {
    if (skip_) return {};
    return ops::sigmoid(up_(ops::relu(down_(layer_attention::pooled(in.x)))));
  }

 private:
  static std::int64_t hidden(const Slot& slot, const SeOptions& o) {
    return std::max<std::int64_t>(1, slot.channels / o.reduction);
  }

  bool skip_;
  nn::Linear& down_;
  nn::Linear& up_;
};

}  // namespace

FOVEA_LAYER_ATTENTION(se, Se, kSe,
                      fovea::schema::Fields<SeOptions>{}
                          .add("reduction", &SeOptions::reduction, fovea::schema::at_least(1),
                               "by how much the hidden layer is narrower")
                          .add("skip_last_stage", &SeOptions::skip_last_stage,
                               "leave it out of the last stage, whose parameters exist all the "
                               "same (the authors' code for CIFAR)"))
