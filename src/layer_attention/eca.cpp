// Efficient channel attention: channels are scaled by a convolution along their means. kcla 2.6.

#include <fmt/format.h>

#include "base/error.h"
#include "layer_attention/channel_conv.h"
#include "layer_attention/gated_channels.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"

namespace {

using namespace fovea;
using layer_attention::Slot;

struct EcaOptions {
  std::vector<std::int64_t> kernel_size;
};

const layer_attention::Info kEca{
    .title = "Efficient channel attention (ECA)",
    .source = "kcla 2.6",
    .names = {{{.core = "eca"}, {.core = "eca"}, {.blocks = "layers", .core = "eca"}}}};

class Eca final : public layer_attention::GatedChannels {
 public:
  Eca(const Slot& slot, const EcaOptions& o)
      : conv_(child<layer_attention::ChannelConv>("conv", slot.build, kernel(slot, o))) {}
  std::string type() const override { return "ECA"; }

 protected:
  Tensor gate(const layer_attention::Layer& in, layer_attention::State&) override {
    return ops::sigmoid(conv_(layer_attention::pooled(in.x)));
  }

 private:
  static std::int64_t kernel(const Slot& slot, const EcaOptions& o) {
    if (o.kernel_size.empty()) return layer_attention::channel_kernel(slot.channels);
    if (o.kernel_size.size() == 1) return o.kernel_size.front();
    const auto stage = static_cast<std::size_t>(slot.stage);
    FOVEA_CHECK(stage < o.kernel_size.size(), ConfigError,
                fmt::format("model.layer_attention.kernel_size: {} numbers; expected one, or one "
                            "for every stage",
                            o.kernel_size.size()));
    return o.kernel_size[stage];
  }

  layer_attention::ChannelConv& conv_;
};

}  // namespace

FOVEA_LAYER_ATTENTION(eca, Eca, kEca,
                      fovea::schema::Fields<EcaOptions>{}.add(
                          "kernel_size", &EcaOptions::kernel_size, fovea::nn::side_length(),
                          "channels that a weight sees, odd: one number, or one for every stage; "
                          "empty = by the number of channels (kcla 2.0)"))
