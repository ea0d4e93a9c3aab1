// PVT-EMCAD: a PVTv2 encoder, or any other backbone, and the efficient multi-scale convolutional
// attention decoder (Rahman et al., 2024). gdla 3.3; names of the public code.

#include <fmt/format.h>

#include "models/counting.h"
#include "models/dense.h"
#include "models/unet/attention_gate.h"
#include "models/unet/emcad_parts.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"

namespace {

using namespace fovea;
using models::AttentionGate;
using models::ChannelAttention;
using models::DataShape;
using models::EmcadActivation;
using models::MultiScaleConv;
using models::PyramidLevel;
using models::SpatialAttention;
using models::UpConv;
using schema::at_least;

struct EmcadOptions : models::ImageOptions, models::MultiScaleOptions {
  schema::Component backbone{"pvt_v2_b2", {}};
  std::int64_t gate_kernel = 3;
  bool deep_supervision = true;
};

// The decoder alone: (the levels of a pyramid, the finest first) -> as many maps of their sizes.
class EmcadDecoder final : public nn::Module {
 public:
  EmcadDecoder(const nn::Build& build, const std::vector<PyramidLevel>& levels,
               const EmcadOptions& o)
      : sab_(child<SpatialAttention>("sab", build)) {
    for (std::size_t k = 0; k < levels.size(); ++k) {  // names count from the finest, from 1
      const std::int64_t channels = levels[k].channels;
      const std::size_t n = k + 1;
      cabs_.push_back(&child<ChannelAttention>(fmt::format("cab{}", n), build, channels));
      convs_.push_back(
          &child<MultiScaleConv>(fmt::format("mscb{}.0", n), build, channels, channels, o));
      if (n == levels.size()) break;
      ups_.push_back(&child<UpConv>(fmt::format("eucb{}", n), build, levels[n].channels, channels));
      const std::int64_t half = std::max<std::int64_t>(1, channels / 2);
      gates_.push_back(
          &child<AttentionGate>(fmt::format("lgag{}", n), build,
                                models::AttentionGateOptions{channels, half, o.gate_kernel, half}));
    }
  }
  std::string type() const override { return "EmcadDecoder"; }

  std::vector<Tensor> operator()(const std::vector<Tensor>& levels) {
    const auto scope = enter();
    std::vector<Tensor> decoded = levels;
    for (std::size_t k = levels.size(); k-- > 0;) {
      Tensor d = levels[k];
      if (k + 1 < levels.size()) {
        const Tensor up = (*ups_[k])(decoded[k + 1]);
        d = ops::add(up, (*gates_[k])(up, levels[k]));
      }
      d = ops::mul((*cabs_[k])(d), d);
      d = ops::mul(sab_(d), d);
      decoded[k] = (*convs_[k])(d);
    }
    return decoded;
  }

 private:
  SpatialAttention& sab_;  // one for all levels
  std::vector<ChannelAttention*> cabs_;
  std::vector<MultiScaleConv*> convs_;
  std::vector<UpConv*> ups_;
  std::vector<AttentionGate*> gates_;
};

class Emcad final : public models::DenseNetwork {
 public:
  Emcad(const nn::Build& build, const EmcadOptions& o, const DataShape& data)
      : DenseNetwork(build, o, data) {
    if (in_chans() == 1) {
      grey_conv_ =
          &child<nn::Conv2d>("conv.0", build, std::int64_t{1}, std::int64_t{3}, ops::Sizes{1});
      grey_norm_ = &child<nn::BatchNorm2d>("conv.1", build, std::int64_t{3});
    }
    backbone_ = &add_backbone("backbone", build, o.backbone, in_chans() == 1 ? 3 : in_chans());
    const std::vector<PyramidLevel>& levels = backbone_->levels();
    check_size(levels.back().stride);
    for (std::size_t k = 0; k + 1 < levels.size(); ++k) {
      FOVEA_CHECK(levels[k + 1].stride == 2 * levels[k].stride, ConfigError,
                  fmt::format("model.backbone: strides {} and {} of two levels; this decoder needs "
                              "each twice the one before",
                              levels[k].stride, levels[k + 1].stride));
    }
    nn::Build normal = build;
    normal.init = nn::Init::kTruncNormal;
    decoder_ = &child<EmcadDecoder>("decoder", normal, levels, o);
    for (std::size_t k = 0; k < (o.deep_supervision ? levels.size() : 1); ++k)
      heads_.push_back(&add_head(fmt::format("out_head{}", k + 1), build, levels[k].channels));
  }
  std::string type() const override { return "Emcad"; }

  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    return models::ptflops_macs(events, *this);
  }

 protected:
  // The public code has the convolution for grey images with any number of channels.
  bool keeps_unused(const std::string& name) const override {
    return grey_conv_ == nullptr && (name.starts_with("conv.0.") || name.starts_with("conv.1."));
  }

  std::vector<Tensor> maps(const Tensor& images, attention::Probe* probe) override {
    const std::int64_t reduction = backbone_->levels().back().stride;
    FOVEA_CHECK(images.size(2) % reduction == 0 && images.size(3) % reduction == 0, ShapeError,
                fmt::format("model: images are {} x {}; this network needs multiples of {}",
                            images.size(2), images.size(3), reduction));
    const Tensor x = grey_conv_ != nullptr ? grey_norm_->with_relu((*grey_conv_)(images)) : images;
    const std::vector<Tensor> decoded = (*decoder_)((*backbone_)(x, probe));
    std::vector<Tensor> logits;
    for (std::size_t k = 0; k < heads_.size(); ++k)
      logits.push_back(ops::resize((*heads_[k])(decoded[k]), {images.size(2), images.size(3)},
                                   ops::Interpolation::kLinear));
    return logits;
  }

 private:
  nn::Conv2d* grey_conv_ = nullptr;
  nn::BatchNorm2d* grey_norm_ = nullptr;
  models::Backbone* backbone_ = nullptr;
  EmcadDecoder* decoder_ = nullptr;
  std::vector<nn::Conv2d*> heads_;  // the finest map first
};

schema::Fields<EmcadOptions> emcad_fields() {
  using O = EmcadOptions;
  schema::Fields<O> fields{O{}};
  fields
      .add_component("backbone", &O::backbone, models::backbones().choices(),
                     "the encoder, whose strides double from level to level")
      .add("kernel_sizes", &O::kernels, nn::side_length(),
           "of the depthwise convolutions that stand side by side")
      .add("expansion_factor", &O::expansion, at_least(1), "their channels relative to the level's")
      .add("parallel", &O::parallel,
           "they see the same; false: each also what those before it made")
      .add("add", &O::add, "their results are added; false: concatenated")
      .add_enum("activation", &O::activation,
                {{"relu", EmcadActivation::kRelu}, {"relu6", EmcadActivation::kRelu6}},
                "behind the norms of these convolutions")
      .add("gate_kernel", &O::gate_kernel, nn::side_length(),
           "kernel of the gates of the skips; odd")
      .add("deep_supervision", &O::deep_supervision,
           "logits of every level, enlarged to the image; else of the finest alone");
  return models::add_dense_fields(fields);
}

}  // namespace

FOVEA_MODEL(pvt_emcad_b2, Emcad, "PVT-EMCAD-B2: PVTv2-B2 and the EMCAD decoder (gdla 3.3)",
            emcad_fields())
