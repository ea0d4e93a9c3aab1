// Plain U-Nets, from configuration. unet (transposed convolutions, 7.77 M parameters) and
// unet_bilinear (13.40 M) are baselines of kcla 3.5. Those of gdla 3.4: unet_classic and
// unet_classic_bilinear, whose convolutions have no bias; unet_upconv, which enlarges by nearest
// neighbours and a convolution; att_unet, the same with gates on its skips (Attention U-Net).

#include <fmt/format.h>

#include "models/dense.h"
#include "models/unet/attention_gate.h"
#include "models/unet/unet_parts.h"
#include "nn/sizes.h"

namespace {

using namespace fovea;
using models::AttentionGate;
using models::DataShape;
using models::DoubleConv;

enum class Upsampling { kConvTranspose, kBilinear, kNearestConv };
enum class Middle { kOut, kHalfIn };

struct UNetOptions : models::ImageOptions {
  Upsampling upsampling = Upsampling::kConvTranspose;
  std::vector<std::int64_t> widths;
  std::vector<std::int64_t> decoder_channels;
  bool conv_bias = true;
  Middle decoder_middle = Middle::kOut;
  bool attention_gates = false;
};

std::int64_t reduction_of(const UNetOptions& o) {
  return std::int64_t{1} << (o.widths.empty() ? 0 : o.widths.size() - 1);
}

// Nearest neighbours, 3x3 convolution, batch norm and ReLU. Names: 1, 2.
class NearestUp final : public nn::UnaryModule {
 public:
  NearestUp(const nn::Build& build, std::int64_t in, std::int64_t out)
      : conv_(child<nn::Conv2d>("1", build, in, out, ops::Sizes{3},
                                ops::ConvOptions{.padding = {1}})),
        norm_(child<nn::BatchNorm2d>("2", build, out)) {}
  std::string type() const override { return "NearestUp"; }

 protected:
  Tensor forward(const Tensor& x) override {
    const ops::Sizes size = {2 * x.size(2), 2 * x.size(3)};
    return norm_.with_relu(conv_(ops::resize(x, size, ops::Interpolation::kNearest)));
  }

 private:
  nn::Conv2d& conv_;
  nn::BatchNorm2d& norm_;
};

class UNet final : public models::DenseNetwork {
 public:
  UNet(const nn::Build& build, const UNetOptions& o, const DataShape& data)
      : DenseNetwork(build, o, data) {
    check_size(reduction_of(o));
    const std::size_t depth = o.decoder_channels.size();
    FOVEA_CHECK(!o.widths.empty() && o.widths.size() == depth + 1, ConfigError,
                fmt::format("model.decoder_channels: {} numbers for {} widths; expected one less",
                            depth, o.widths.size()));
    inc_ = &child<DoubleConv>("inc", build, in_chans(), o.widths[0], o.conv_bias);
    for (std::size_t k = 0; k < depth; ++k) {
      down_.push_back(&child<DoubleConv>(fmt::format("down.{}", k), build, o.widths[k],
                                         o.widths[k + 1], o.conv_bias));
    }
    std::int64_t width = o.widths.back();
    for (std::size_t k = 0; k < depth; ++k) {
      const std::int64_t skip = o.widths[depth - 1 - k];
      width = add_up(build, o, k, width, skip);
      const std::int64_t middle = o.decoder_middle == Middle::kHalfIn ? (skip + width) / 2 : 0;
      up_.push_back(&child<DoubleConv>(fmt::format("up.{}", k), build, skip + width,
                                       o.decoder_channels[k], o.conv_bias, middle));
      width = o.decoder_channels[k];
    }
    head_ = &add_head("outc.conv", build, width);
  }
  std::string type() const override { return "UNet"; }

 protected:
  std::vector<Tensor> maps(const Tensor& images, attention::Probe* probe) override {
    const auto see = [&](const Tensor& map, const std::string& part) {
      if (probe != nullptr) probe->record("features", map, part);
    };
    std::vector<Tensor> levels{(*inc_)(images)};
    see(levels[0], "inc");
    for (std::size_t k = 0; k < down_.size(); ++k) {
      levels.push_back((*down_[k])(ops::max_pool(levels.back(), {2})));
      see(levels.back(), fmt::format("down.{}", k));
    }
    Tensor x = levels.back();
    for (std::size_t k = 0; k < up_.size(); ++k) {
      const Tensor& skip = levels[levels.size() - 2 - k];
      const Tensor large =
          models::fitted(enlarge_.empty() ? models::doubled(x) : (*enlarge_[k])(x), skip);
      x = (*up_[k])(models::with_skip(gates_.empty() ? skip : (*gates_[k])(large, skip), large));
      see(x, fmt::format("up.{}", k));
    }
    return {(*head_)(x)};
  }

  // Names of the public code behind the networks of gdla 3.4; levels are counted from 1 there, and
  // those of the last two from the finest on.
  std::string translated(const std::string& name) const override {
    const std::size_t depth = down_.size();
    const auto changed = [&](const std::string& from, const std::string& to) -> std::string {
      return name.starts_with(from) ? to + name.substr(from.size()) : std::string();
    };
    std::vector<std::string> found = {changed("Conv1.conv.", "inc.double_conv."),
                                      changed("Conv_1x1.", "outc.conv.")};
    for (std::size_t k = 0; k < depth; ++k) {
      const std::string down = fmt::format("down.{}.", k);
      const std::string up = fmt::format("up.{}.", k);
      const std::size_t n = depth + 1 - k;
      for (const auto& [from, to] : {std::pair{fmt::format("down{}.maxpool_conv.1.", k + 1), down},
                                     {fmt::format("up{}.up.", k + 1), fmt::format("up_t.{}.", k)},
                                     {fmt::format("up{}.conv.", k + 1), up},
                                     {fmt::format("Conv{}.conv.", k + 2), down + "double_conv."},
                                     {fmt::format("Up{}.up.", n), fmt::format("up_n.{}.", k)},
                                     {fmt::format("Up_conv{}.conv.", n), up + "double_conv."},
                                     {fmt::format("Att{}.", n), fmt::format("att.{}.", k)}})
        found.push_back(changed(from, to));
    }
    for (const std::string& own : found) {
      if (!own.empty()) return own;
    }
    return name;
  }

 private:
  // What enlarges maps of `width` channels for a skip, and its gate; returns the channels after.
  std::int64_t add_up(const nn::Build& build, const UNetOptions& o, std::size_t k,
                      std::int64_t width, std::int64_t skip) {
    if (o.upsampling == Upsampling::kBilinear) {
      FOVEA_CHECK(!o.attention_gates || width == skip, ConfigError,
                  fmt::format("model.attention_gates: {} channels meet a skip of {}; expected "
                              "equal numbers",
                              width, skip));
    } else if (o.upsampling == Upsampling::kConvTranspose) {
      enlarge_.push_back(&child<nn::ConvTranspose2d>(fmt::format("up_t.{}", k), build, width, skip,
                                                     ops::Sizes{2},
                                                     ops::ConvOptions{.stride = {2}}));
    } else {
      enlarge_.push_back(&child<NearestUp>(fmt::format("up_n.{}", k), build, width, skip));
    }
    if (o.attention_gates) {
      gates_.push_back(&child<AttentionGate>(
          fmt::format("att.{}", k), build,
          models::AttentionGateOptions{.channels = skip,
                                       .hidden = std::max<std::int64_t>(1, skip / 2)}));
    }
    return o.upsampling == Upsampling::kBilinear ? width : skip;
  }

  DoubleConv* inc_ = nullptr;
  std::vector<DoubleConv*> down_;
  std::vector<nn::UnaryModule*> enlarge_;  // empty: interpolation
  std::vector<AttentionGate*> gates_;      // empty: none
  std::vector<DoubleConv*> up_;
  nn::Conv2d* head_ = nullptr;
};

schema::Fields<UNetOptions> unet_fields(const UNetOptions& defaults) {
  using O = UNetOptions;
  schema::Fields<O> fields(defaults);
  fields
      .add_enum("upsampling", &O::upsampling,
                {{"conv_transpose", Upsampling::kConvTranspose},
                 {"bilinear", Upsampling::kBilinear},
                 {"nearest_conv", Upsampling::kNearestConv}},
                "2x2 transposed convolutions; interpolation with aligned corners; or nearest "
                "neighbours and a 3x3 convolution with batch norm and ReLU")
      .add("widths", &O::widths, nn::channel_count(), "channels of each resolution")
      .add("decoder_channels", &O::decoder_channels, nn::channel_count(),
           "channels after each upsampling, the deepest first")
      .add("conv_bias", &O::conv_bias, "biases of the 3x3 convolutions before batch norms")
      .add_enum("decoder_middle", &O::decoder_middle,
                {{"out", Middle::kOut}, {"half_in", Middle::kHalfIn}},
                "channels between the two convolutions of a decoder level: as behind them, or half "
                "of those before them")
      .add("attention_gates", &O::attention_gates,
           "skips are weighted by what the decoder brings (Attention U-Net)");
  return models::add_dense_fields(fields);
}

schema::Fields<UNetOptions> unet_fields(Upsampling upsampling, std::vector<std::int64_t> widths,
                                        std::vector<std::int64_t> decoder_channels) {
  UNetOptions defaults;
  defaults.upsampling = upsampling;
  defaults.widths = std::move(widths);
  defaults.decoder_channels = std::move(decoder_channels);
  return unet_fields(defaults);
}

// gdla 3.4, number 3.
schema::Fields<UNetOptions> classic(bool bilinear) {
  UNetOptions o;
  o.upsampling = bilinear ? Upsampling::kBilinear : Upsampling::kConvTranspose;
  o.widths = {64, 128, 256, 512, bilinear ? 512 : 1024};
  o.decoder_channels = {512, 256, 128, 64};
  if (bilinear) o.decoder_channels = {256, 128, 64, 64};
  o.conv_bias = false;
  if (bilinear) o.decoder_middle = Middle::kHalfIn;
  return unet_fields(o);
}

// gdla 3.4, numbers 1 and 2.
schema::Fields<UNetOptions> with_convolutions(bool gates) {
  UNetOptions o;
  o.upsampling = Upsampling::kNearestConv;
  o.widths = {64, 128, 256, 512, 1024};
  o.decoder_channels = {512, 256, 128, 64};
  o.attention_gates = gates;
  return unet_fields(o);
}

}  // namespace

FOVEA_MODEL(unet, UNet, "U-Net with transposed convolutions, 7.77 M parameters (kcla 3.5)",
            unet_fields(Upsampling::kConvTranspose, {32, 64, 128, 256, 512}, {256, 128, 64, 32}))
FOVEA_MODEL(unet_bilinear, UNet, "U-Net with bilinear upsampling, 13.40 M parameters (kcla 3.5)",
            unet_fields(Upsampling::kBilinear, {64, 128, 256, 512, 512}, {256, 128, 64, 64}))
FOVEA_MODEL(unet_classic, UNet, "U-Net with transposed convolutions, 31.04 M parameters (gdla 3.4)",
            classic(false))
FOVEA_MODEL(unet_classic_bilinear, UNet,
            "U-Net with bilinear upsampling, 17.26 M parameters (gdla 3.4)", classic(true))
FOVEA_MODEL(unet_upconv, UNet,
            "U-Net that enlarges by nearest neighbours and a convolution, 34.53 M parameters (gdla "
            "3.4)",
            with_convolutions(false))
FOVEA_MODEL(att_unet, UNet, "Attention U-Net, 34.88 M parameters (gdla 3.4)",
            with_convolutions(true))
