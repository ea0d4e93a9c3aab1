// nnU-Net's network for volumes, the PlainConvUNet of its package dynamic-network-architectures:
// blocks of convolution, instance norm and leaky ReLU, with kernels and strides for each stage, so
// that axes with coarse voxels are halved later than others. `fovea inspect dataset --plan`
// proposes them. Isensee et al., "nnU-Net", Nature Methods 18 (2021).

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "models/volumes/volume_network.h"
#include "nn/convolution.h"
#include "nn/norm.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::Size3;

struct PlainConvUNetOptions : models::VolumeOptions {
  std::vector<std::int64_t> features_per_stage = {32, 64, 128, 256, 320, 320};
  std::vector<Size3> strides = {{1, 1, 1}, {2, 2, 2}, {2, 2, 2}, {2, 2, 2}, {2, 2, 2}, {2, 2, 2}};
  std::vector<Size3> kernel_sizes = std::vector<Size3>(6, {3, 3, 3});
  std::int64_t n_conv_per_stage = 2;
  bool deep_supervision = true;
};

std::string complaint(const PlainConvUNetOptions& o) {
  const std::size_t stages = o.features_per_stage.size();
  if (stages < 2) return fmt::format("features_per_stage: {} stages; expected at least 2", stages);
  if (o.strides.size() != stages || o.kernel_sizes.size() != stages)
    return fmt::format(
        "strides, kernel_sizes: of {} and {} stages; features_per_stage has {}: expected as many",
        o.strides.size(), o.kernel_sizes.size(), stages);
  for (const Size3& kernel : o.kernel_sizes) {
    if (std::ranges::any_of(kernel, [](std::int64_t side) { return side % 2 == 0; }))
      return "kernel_sizes: expected odd numbers";
  }
  return "";
}

// Convolution with bias, instance norm with weight and bias, leaky ReLU.
class ConvNormReLU3d final : public nn::UnaryModule {
 public:
  ConvNormReLU3d(const nn::Build& build, std::int64_t in, std::int64_t out, const Size3& kernel,
                 const Size3& stride)
      : conv_(child<nn::Conv3d>(
            "conv", build, in, out, models::sizes_of(kernel),
            ops::ConvOptions{.stride = models::sizes_of(stride),
                             .padding = {kernel[0] / 2, kernel[1] / 2, kernel[2] / 2}})),
        norm_(child<nn::GroupNorm>("norm", build, out, out)) {}
  std::string type() const override { return "ConvNormReLU3d"; }

 protected:
  Tensor forward(const Tensor& x) override { return ops::leaky_relu(norm_(conv_(x))); }

 private:
  nn::Conv3d& conv_;
  nn::GroupNorm& norm_;
};

// Several of them, of which the first has the stride. Names: convs.K.
class StackedConvs3d final : public nn::UnaryModule {
 public:
  StackedConvs3d(const nn::Build& build, std::int64_t count, std::int64_t in, std::int64_t out,
                 const Size3& kernel, const Size3& stride) {
    for (std::int64_t k = 0; k < count; ++k) {
      convs_.push_back(&child<ConvNormReLU3d>(fmt::format("convs.{}", k), build, k == 0 ? in : out,
                                              out, kernel, k == 0 ? stride : Size3{1, 1, 1}));
    }
  }
  std::string type() const override { return "StackedConvs3d"; }

 protected:
  Tensor forward(const Tensor& x) override {
    Tensor y = x;
    for (ConvNormReLU3d* conv : convs_) y = (*conv)(y);
    return y;
  }

 private:
  std::vector<ConvNormReLU3d*> convs_;
};

// Stages are counted from the finest in the encoder, from the coarsest in the decoder.
class PlainConvUNet final : public models::VolumeNetwork {
 public:
  PlainConvUNet(const nn::Build& given, const PlainConvUNetOptions& o, const DataShape& data)
      : VolumeNetwork(given, o, data), deep_supervision_(o.deep_supervision) {
    if (size()) check_size(o);
    nn::Build build = given;
    build.init = nn::Init::kHe;
    const std::size_t stages = o.features_per_stage.size();
    std::int64_t in = in_chans();
    for (std::size_t s = 0; s < stages; ++s) {
      encoder_.push_back(&child<StackedConvs3d>(fmt::format("encoder.stages.{}.0", s), build,
                                                o.n_conv_per_stage, in, o.features_per_stage[s],
                                                o.kernel_sizes[s], o.strides[s]));
      in = o.features_per_stage[s];
    }
    for (std::size_t k = 0; k + 1 < stages; ++k) {
      const std::size_t s = stages - 2 - k;  // the stage of the skip
      const std::int64_t skip = o.features_per_stage[s];
      const ops::Sizes stride = models::sizes_of(o.strides[s + 1]);
      up_.push_back(&child<nn::ConvTranspose3d>(fmt::format("decoder.transpconvs.{}", k), build, in,
                                                skip, stride, ops::ConvOptions{.stride = stride}));
      decoder_.push_back(&child<StackedConvs3d>(fmt::format("decoder.stages.{}", k), build,
                                                o.n_conv_per_stage, 2 * skip, skip,
                                                o.kernel_sizes[s], Size3{1, 1, 1}));
      const bool last = s == 0;
      // nnU-Net gives the loss of the coarsest map no weight.
      heads_.push_back(last || (deep_supervision_ && k > 0)
                           ? &child<nn::Conv3d>(fmt::format("decoder.seg_layers.{}", k), build,
                                                skip, num_classes(), ops::Sizes{1})
                           : nullptr);
      in = skip;
    }
  }
  std::string type() const override { return "PlainConvUNet"; }

 protected:
  std::vector<Tensor> maps(const Tensor& volumes, attention::Probe*) override {
    std::vector<Tensor> skips;
    Tensor x = volumes;
    for (StackedConvs3d* stage : encoder_) {
      x = (*stage)(x);
      skips.push_back(x);
    }
    skips.pop_back();
    std::vector<Tensor> maps;
    for (std::size_t k = 0; k < decoder_.size(); ++k) {
      const Tensor large = (*up_[k])(x);
      FOVEA_CHECK(large.shape() == skips.back().shape(), ShapeError,
                  fmt::format("plain_conv_unet: a volume of {} x {} x {} cannot be halved by the "
                              "strides; expected sides that they divide",
                              volumes.size(2), volumes.size(3), volumes.size(4)));
      x = (*decoder_[k])(ops::concat({large, skips.back()}, 1));
      skips.pop_back();
      if (heads_[k] != nullptr) maps.push_back((*heads_[k])(x));
    }
    std::ranges::reverse(maps);
    return maps;
  }

  // Files of nnU-Net store blocks twice, and a head for every stage of the decoder.
  bool keeps_unused(const std::string& name) const override {
    if (name.starts_with("decoder.encoder.") || name.find(".all_modules.") != std::string::npos)
      return true;
    for (std::size_t k = 0; k < heads_.size(); ++k) {
      if (heads_[k] == nullptr && name.starts_with(fmt::format("decoder.seg_layers.{}.", k)))
        return true;
    }
    return false;
  }

 private:
  void check_size(const PlainConvUNetOptions& o) const {
    Size3 divisor = {1, 1, 1};
    for (const Size3& stride : o.strides) {
      for (std::size_t axis = 0; axis < 3; ++axis) divisor[axis] *= stride[axis];
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      FOVEA_CHECK(
          (*size())[axis] % divisor[axis] == 0, ConfigError,
          fmt::format("model.img_size: {}; expected multiples of {}, by which model.strides "
                      "divide; fovea inspect dataset EXPERIMENT --plan proposes both",
                      fmt::join(*size(), " x "), fmt::join(divisor, " x ")));
    }
  }

  bool deep_supervision_;
  std::vector<StackedConvs3d*> encoder_, decoder_;
  std::vector<nn::ConvTranspose3d*> up_;
  std::vector<nn::Conv3d*> heads_;  // null: none
};

schema::Fields<PlainConvUNetOptions> plain_conv_unet_fields() {
  using O = PlainConvUNetOptions;
  schema::Fields<O> fields;
  fields
      .add("features_per_stage", &O::features_per_stage, nn::channel_count(),
           "channels of each stage, the finest first")
      .add("strides", &O::strides, nn::side_length(),
           "of each stage, (depth, height, width): of its first convolution; those of the first "
           "stage are 1")
      .add("kernel_sizes", &O::kernel_sizes, nn::side_length(),
           "of each stage, (depth, height, width), odd")
      .add("n_conv_per_stage", &O::n_conv_per_stage, nn::block_count(),
           "convolutions of each stage, in the encoder and in the decoder")
      .add(
          "deep_supervision", &O::deep_supervision,
          "maps of the decoder's coarser stages, too, all but the coarsest (to which nnU-Net gives "
          "no weight); false: only the finest")
      .check(complaint);
  return models::add_volume_fields(fields);
}

}  // namespace

FOVEA_MODEL(plain_conv_unet, PlainConvUNet,
            "nnU-Net's U-Net for volumes: strides and kernels of each stage by the voxels' sizes",
            plain_conv_unet_fields())
