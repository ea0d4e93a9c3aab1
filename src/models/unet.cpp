// Plain U-Nets, the baselines of Table IV: unet (transposed convolutions, 7.77 M parameters) and
// unet_bilinear (13.40 M). kcla 3.5.

#include <fmt/format.h>

#include "models/dense.h"
#include "models/unet_parts.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::DoubleConv;

enum class Upsampling { kConvTranspose, kBilinear };

struct Options : models::ImageOptions {
  Upsampling upsampling = Upsampling::kConvTranspose;
  std::vector<std::int64_t> widths;
  std::vector<std::int64_t> decoder_channels;
};

std::int64_t reduction_of(const Options& o) {
  return std::int64_t{1} << (o.widths.empty() ? 0 : o.widths.size() - 1);
}

class UNet final : public models::DenseNetwork {
 public:
  UNet(const nn::Build& build, const Options& o, const DataShape& data)
      : DenseNetwork(build, o, data) {
    check_size(reduction_of(o));
    const std::size_t depth = o.decoder_channels.size();
    FOVEA_CHECK(!o.widths.empty() && o.widths.size() == depth + 1, ConfigError,
                fmt::format("model.decoder_channels: {} numbers for {} widths; expected one less",
                            depth, o.widths.size()));
    inc_ = &child<DoubleConv>("inc", build, in_chans(), o.widths[0]);
    for (std::size_t k = 0; k < depth; ++k) {
      down_.push_back(
          &child<DoubleConv>(fmt::format("down.{}", k), build, o.widths[k], o.widths[k + 1]));
    }
    std::int64_t width = o.widths.back();
    for (std::size_t k = 0; k < depth; ++k) {
      const std::int64_t skip = o.widths[depth - 1 - k];
      if (o.upsampling == Upsampling::kConvTranspose) {
        up_t_.push_back(&child<nn::ConvTranspose2d>(fmt::format("up_t.{}", k), build, width, skip,
                                                    ops::Sizes{2},
                                                    ops::ConvOptions{.stride = {2}}));
        width = skip;
      }
      up_.push_back(
          &child<DoubleConv>(fmt::format("up.{}", k), build, skip + width, o.decoder_channels[k]));
      width = o.decoder_channels[k];
    }
    head_ = &add_head("outc.conv", build, width);
  }
  std::string type() const override { return "UNet"; }

 protected:
  std::vector<Tensor> maps(const Tensor& images, attention::Probe*) override {
    std::vector<Tensor> levels{(*inc_)(images)};
    for (DoubleConv* down : down_) levels.push_back((*down)(ops::max_pool(levels.back(), {2})));
    Tensor x = levels.back();
    for (std::size_t k = 0; k < up_.size(); ++k) {
      const Tensor large = up_t_.empty() ? models::doubled(x) : (*up_t_[k])(x);
      x = (*up_[k])(models::with_skip(levels[levels.size() - 2 - k], large));
    }
    return {(*head_)(x)};
  }

 private:
  DoubleConv* inc_ = nullptr;
  std::vector<DoubleConv*> down_;
  std::vector<nn::ConvTranspose2d*> up_t_;
  std::vector<DoubleConv*> up_;
  nn::Conv2d* head_ = nullptr;
};

schema::Fields<Options> fields(Upsampling upsampling, std::vector<std::int64_t> widths,
                               std::vector<std::int64_t> decoder_channels) {
  using O = Options;
  Options defaults;
  defaults.upsampling = upsampling;
  defaults.widths = std::move(widths);
  defaults.decoder_channels = std::move(decoder_channels);
  schema::Fields<O> fields(defaults);
  fields
      .add_enum(
          "upsampling", &O::upsampling,
          {{"conv_transpose", Upsampling::kConvTranspose}, {"bilinear", Upsampling::kBilinear}},
          "2x2 transposed convolutions, or interpolation with aligned corners")
      .add("widths", &O::widths, schema::at_least(1), "channels of each resolution")
      .add("decoder_channels", &O::decoder_channels, schema::at_least(1),
           "channels after each upsampling, the deepest first");
  return models::add_dense_fields(fields);
}

}  // namespace

FOVEA_MODEL(unet, UNet, "U-Net with transposed convolutions, 7.77 M parameters (kcla 3.5)",
            fields(Upsampling::kConvTranspose, {32, 64, 128, 256, 512}, {256, 128, 64, 32}))
FOVEA_MODEL(unet_bilinear, UNet, "U-Net with bilinear upsampling, 13.40 M parameters (kcla 3.5)",
            fields(Upsampling::kBilinear, {64, 128, 256, 512, 512}, {256, 128, 64, 64}))
