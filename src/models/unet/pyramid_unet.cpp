// U-Nets over any backbone: the levels of its pyramid are the skips. resnet_unet is that of kcla
// 3.5, over a ResNet of reduced width and so with any layer attention; its names are those of the
// paper's public code.

#include <fmt/format.h>

#include "models/dense.h"
#include "models/unet/unet_parts.h"
#include "nn/sizes.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::PyramidLevel;

struct PyramidUNetOptions : models::ImageOptions {
  schema::Component backbone;
  std::optional<std::vector<std::int64_t>> decoder_channels;
};

class PyramidUNet final : public models::DenseNetwork {
 public:
  PyramidUNet(const nn::Build& build, const PyramidUNetOptions& o, const DataShape& data)
      : DenseNetwork(build, o, data),
        encoder_(add_backbone("encoder", build, o.backbone, in_chans())) {
    const std::vector<PyramidLevel>& levels = encoder_.levels();
    check_size(levels.back().stride);
    const std::vector<std::int64_t> widths = o.decoder_channels.value_or(halves(levels));
    FOVEA_CHECK(widths.size() + 1 == levels.size(), ConfigError,
                fmt::format("model.decoder_channels: {} numbers for the {} levels of the backbone; "
                            "expected one less",
                            widths.size(), levels.size()));
    std::int64_t width = levels.back().channels;
    for (std::size_t k = 0; k < widths.size(); ++k) {
      const std::int64_t skip = levels[levels.size() - 2 - k].channels;
      ups_.push_back(
          &child<models::Up>(fmt::format("up{}", k + 1), build, skip + width, widths[k]));
      width = widths[k];
    }
    head_ = &add_head("outc.conv", build, width);
  }
  std::string type() const override { return "PyramidUNet"; }

 protected:
  // Levels of one size: the map is enlarged all the same, then cropped. kcla 3.5.
  std::vector<Tensor> maps(const Tensor& images, attention::Probe* probe) override {
    const std::vector<Tensor> levels = encoder_(images, probe);
    Tensor x = levels.back();
    for (std::size_t k = 0; k < ups_.size(); ++k) {
      x = (*ups_[k])(x, levels[levels.size() - 2 - k]);
    }
    x = (*head_)(x);
    if (encoder_.levels().front().stride > 1)
      x = ops::resize(x, {images.size(2), images.size(3)}, ops::Interpolation::kLinear);
    return {x};
  }

 private:
  // Half of the channels of every level but the deepest, the deepest of these first.
  static std::vector<std::int64_t> halves(const std::vector<PyramidLevel>& levels) {
    std::vector<std::int64_t> widths;
    for (std::size_t k = levels.size() - 1; k > 0; --k)
      widths.push_back(std::max<std::int64_t>(1, levels[k - 1].channels / 2));
    return widths;
  }

  models::Backbone& encoder_;
  std::vector<models::Up*> ups_;
  nn::Conv2d* head_ = nullptr;
};

schema::Fields<PyramidUNetOptions> pyramid_unet_fields(
    const char* backbone, std::optional<std::vector<std::int64_t>> decoder_channels) {
  using O = PyramidUNetOptions;
  O defaults;
  defaults.backbone = {backbone, {}};
  defaults.decoder_channels = std::move(decoder_channels);
  schema::Fields<O> fields(defaults);
  fields
      .add_component("backbone", &O::backbone, models::backbones().choices(),
                     "the encoder, whose levels are the skips")
      .add("decoder_channels", &O::decoder_channels, nn::channel_count(),
           "channels after each upsampling, one number for every level of the backbone but the "
           "deepest, from there on; null = half of the level's");
  return models::add_dense_fields(fields);
}

}  // namespace

FOVEA_MODEL(resnet_unet, PyramidUNet, "U-Net with a ResNet of reduced width as encoder (kcla 3.5)",
            pyramid_unet_fields("resnet18_reduced", std::vector<std::int64_t>{64, 32, 16, 16}))
FOVEA_MODEL(pyramid_unet, PyramidUNet,
            "U-Net decoder over any backbone; logits at the stride of its finest level, resized",
            pyramid_unet_fields("resnet50", std::nullopt))
