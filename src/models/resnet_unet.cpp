// A U-Net with a ResNet as its encoder, and so with any layer attention that one has. The network
// ends in a sigmoid. Names are those of the paper's public code. kcla 3.5.

#include <fmt/format.h>

#include "models/resnet_backbone.h"
#include "models/unet_parts.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::ResNetBackboneOptions;

struct Options : models::DenseOptions {
  ResNetBackboneOptions encoder;
  std::vector<std::int64_t> decoder_channels = {64, 32, 16, 16};
};

std::int64_t reduction_of(const Options& o) {
  std::int64_t factor = 1;
  for (const std::int64_t stride : o.encoder.strides) factor *= stride;
  return factor;
}

class ResNetUNet final : public models::SegmentationNetwork {
 public:
  ResNetUNet(const nn::Build& build, const Options& o, const DataShape& data)
      : SegmentationNetwork(build, o, data, reduction_of(o)),
        encoder_(child("encoder",
                       models::make_resnet_backbone(build.at("encoder"), o.encoder, in_chans()))) {
    const std::vector<std::int64_t>& levels = encoder_.channels();
    FOVEA_CHECK(o.decoder_channels.size() + 1 == levels.size(), ConfigError,
                fmt::format("model.decoder_channels: {} numbers for the {} stages of the encoder",
                            o.decoder_channels.size(), levels.size() - 1));
    std::int64_t width = levels.back();
    for (std::size_t k = 0; k < o.decoder_channels.size(); ++k) {
      const std::int64_t skip = levels[levels.size() - 2 - k];
      ups_.push_back(&child<models::Up>(fmt::format("up{}", k + 1), build, skip + width,
                                        o.decoder_channels[k]));
      width = o.decoder_channels[k];
    }
    head_ = &add_head("outc.conv", build, width);
  }
  std::string type() const override { return "ResNetUNet"; }

 protected:
  // A stage of stride 1 gives two levels of one size: the map is enlarged all the same, and its
  // middle goes on.
  Tensor logits(const Tensor& images, attention::Probe* probe) override {
    const std::vector<Tensor> levels = encoder_(images, probe);
    Tensor x = levels.back();
    for (std::size_t k = 0; k < ups_.size(); ++k) {
      x = (*ups_[k])(x, levels[levels.size() - 2 - k]);
    }
    return (*head_)(x);
  }

 private:
  models::Backbone& encoder_;
  std::vector<models::Up*> ups_;
  nn::Conv2d* head_ = nullptr;
};

schema::Fields<Options> fields() {
  using O = Options;
  schema::Fields<O> fields;
  fields
      .add_object("encoder", &O::encoder, models::resnet_backbone_fields(),
                  "the ResNet whose stem and stages give the skips")
      .add("decoder_channels", &O::decoder_channels, schema::at_least(1),
           "channels after each upsampling, one number a stage of the encoder, the deepest first");
  return models::add_dense_fields(fields);
}

}  // namespace

FOVEA_MODEL(resnet_unet, ResNetUNet, "U-Net with a ResNet of reduced width as encoder (kcla 3.5)",
            fields())
