// The 3D U-Net of the dformer paper's tables: the common pytorch-3dunet, order "gcr". dformer 4.2.

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

struct UNet3dOptions : models::VolumeOptions {
  std::vector<std::int64_t> f_maps = {64, 128, 256, 512};
  std::int64_t num_groups = 8;
};

// Group norm, 3x3x3 convolution without bias, ReLU. With fewer channels than groups there is one
// group.
class SingleConv3d final : public nn::UnaryModule {
 public:
  SingleConv3d(const nn::Build& build, std::int64_t in, std::int64_t out, std::int64_t groups)
      : norm_(child<nn::GroupNorm>("groupnorm", build, in < groups ? 1 : groups, in)),
        conv_(child<nn::Conv3d>("conv", build, in, out, ops::Sizes{3},
                                ops::ConvOptions{.padding = {1}}, false)) {}
  std::string type() const override { return "SingleConv3d"; }

 protected:
  Tensor forward(const Tensor& x) override { return ops::relu(conv_(norm_(x))); }

 private:
  nn::GroupNorm& norm_;
  nn::Conv3d& conv_;
};

class DoubleConv3d final : public nn::UnaryModule {
 public:
  DoubleConv3d(const nn::Build& build, std::int64_t in, std::int64_t middle, std::int64_t out,
               std::int64_t groups)
      : first_(child<SingleConv3d>("basic_module.SingleConv1", build, in, middle, groups)),
        second_(child<SingleConv3d>("basic_module.SingleConv2", build, middle, out, groups)) {}
  std::string type() const override { return "DoubleConv3d"; }

 protected:
  Tensor forward(const Tensor& x) override { return second_(first_(x)); }

 private:
  SingleConv3d& first_;
  SingleConv3d& second_;
};

// Encoders halve the volume, decoders bring it to the size of the skip connection (nearest).
class UNet3d final : public models::VolumeNetwork {
 public:
  UNet3d(const nn::Build& build, const UNet3dOptions& o, const DataShape& data)
      : VolumeNetwork(build, o, data) {
    std::int64_t in = in_chans();
    for (std::size_t i = 0; i < o.f_maps.size(); ++i) {
      const std::int64_t out = o.f_maps[i];
      encoders_.push_back(&child<DoubleConv3d>(fmt::format("encoders.{}", i), build, in,
                                               std::max(out / 2, in), out, o.num_groups));
      in = out;
    }
    for (std::size_t i = 0; i + 1 < o.f_maps.size(); ++i) {
      const std::int64_t skip = o.f_maps[o.f_maps.size() - 2 - i];
      decoders_.push_back(&child<DoubleConv3d>(fmt::format("decoders.{}", i), build, skip + in,
                                               skip, skip, o.num_groups));
      in = skip;
    }
    head_ = &child<nn::Conv3d>("final_conv", build, in, num_classes(), ops::Sizes{1});
  }
  std::string type() const override { return "UNet3d"; }

 protected:
  std::vector<Tensor> maps(const Tensor& volumes, attention::Probe*) override {
    std::vector<Tensor> skips;
    Tensor x = volumes;
    for (DoubleConv3d* encoder : encoders_) {
      if (!skips.empty()) x = ops::max_pool(x, {2});
      x = (*encoder)(x);
      skips.push_back(x);
    }
    skips.pop_back();
    for (DoubleConv3d* decoder : decoders_) {
      const Tensor skip = skips.back();
      skips.pop_back();
      const ops::Sizes size = skip.shape().part(2, 5).to_vector();
      x = (*decoder)(ops::concat({skip, ops::resize(x, size, ops::Interpolation::kNearest)}, 1));
    }
    return {(*head_)(x)};
  }

 private:
  std::vector<DoubleConv3d*> encoders_;
  std::vector<DoubleConv3d*> decoders_;
  nn::Conv3d* head_ = nullptr;
};

schema::Fields<UNet3dOptions> unet3d_fields() {
  using O = UNet3dOptions;
  schema::Fields<O> fields;
  fields.add("f_maps", &O::f_maps, nn::channel_count(), "channels of each resolution")
      .add("num_groups", &O::num_groups, schema::at_least(1), "groups of the norms")
      .check([](const O& o) {
        return o.f_maps.empty() ? std::string("f_maps is empty") : std::string();
      });
  return models::add_volume_fields(fields);
}

}  // namespace

FOVEA_MODEL(unet3d, UNet3d, "3D U-Net of group norms and 3x3x3 convolutions (dformer 4.2)",
            unet3d_fields())
