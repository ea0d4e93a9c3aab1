// ResNets with recurrent layer aggregation (RLA_g, NeurIPS 2021): a map of few channels runs
// through all blocks. Names are those of its public code. kcla 2.7, row "+RLA_g" of Table II.

#include <fmt/format.h>

#include "layer_attention/rla.h"
#include "models/counting.h"
#include "models/image_options.h"
#include "models/resnet/residual_block.h"
#include "nn/linear.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Aggregation;
using models::DataShape;
using models::ResidualBlock;
using schema::at_least;

struct RlaOptions : models::ImageOptions {
  std::vector<std::int64_t> depths;
  std::vector<std::int64_t> planes = {64, 128, 256, 512};
  std::optional<std::int64_t> stem_width;
  std::int64_t rla_channels = 32;
  bool zero_init_last = true;
};

class RlaResNet final : public models::ImageClassifier {
 public:
  RlaResNet(const nn::Build& outer, const RlaOptions& o, const DataShape& data) : o_(o) {
    const models::ImageShape shape = checked(o, data);
    nn::Build build = outer;
    build.init = nn::Init::kKaiming;
    activations_ = build.activation_dtype();
    std::int64_t width = o.stem_width.value_or(o.planes.front());
    conv1_ = &child<nn::Conv2d>("conv1", build, shape.channels, width, ops::Sizes{7},
                                ops::ConvOptions{.stride = {2}, .padding = {3}}, false);
    bn1_ = &child<nn::BatchNorm2d>("bn1", build, width);
    for (std::size_t s = 0; s < o.depths.size(); ++s) width = add_stage(build, s, width);
    bn2_ = &child<nn::BatchNorm2d>("bn2", build, o.rla_channels);
    fc_ = &child<nn::Linear>("fc", build, width + o.rla_channels, shape.classes);
  }
  std::string type() const override { return "RlaResNet"; }

  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    return models::module_hook_macs(events);
  }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    Tensor x =
        ops::max_pool(bn1_->with_relu((*conv1_)(ops::cast(in.image, activations_))), {3}, {2}, {1});
    Tensor h =
        ops::zeros({x.size(0), o_.rla_channels, x.size(2), x.size(3)}, x.dtype(), x.device());
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const Stage& stage = stages_[s];
      for (std::size_t i = 0; i < stage.blocks.size(); ++i) {
        x = (*stage.blocks[i])(x, {.extra = h});
        if (i == 0 && stage.stride == 2) h = ops::avg_pool(h, {2});
        h = (*stage.aggregation)(h, x, *stage.bns[i]);
      }
      if (probe != nullptr) probe->record("features", x, fmt::format("stages.{}", s));
    }
    x = ops::adaptive_avg_pool(ops::concat({x, bn2_->with_relu(h)}, 1), {1});
    return {.logits = (*fc_)(ops::reshape(x, {x.size(0), x.size(1)}))};
  }

 private:
  struct Stage {
    std::vector<ResidualBlock*> blocks;
    std::vector<nn::BatchNorm2d*> bns;
    Aggregation* aggregation = nullptr;
    std::int64_t stride = 1;
  };

  std::int64_t add_stage(const nn::Build& build, std::size_t s, std::int64_t width) {
    Stage stage;
    stage.stride = s == 0 ? 1 : 2;
    models::BlockOptions block{.zero_init_last = o_.zero_init_last,
                               .in = width,
                               .extra = o_.rla_channels,
                               .planes = o_.planes[s],
                               .stride = stage.stride};
    const std::int64_t out = models::block_width(block.kind, block.planes);
    for (std::int64_t i = 0; i < o_.depths[s]; ++i) {
      stage.blocks.push_back(
          &child<ResidualBlock>(fmt::format("stages.{}.{}", s, i), build, block));
      stage.bns.push_back(
          &child<nn::BatchNorm2d>(fmt::format("stage_bns.{}.{}", s, i), build, o_.rla_channels));
      block.in = out;
      block.stride = 1;
    }
    stage.aggregation =
        &child<Aggregation>("", build, out, o_.rla_channels, fmt::format("conv_outs.{}", s),
                            fmt::format("recurrent_convs.{}", s));
    stages_.push_back(stage);
    return out;
  }

  static models::ImageShape checked(const RlaOptions& o, const DataShape& data) {
    FOVEA_CHECK(!o.depths.empty() && o.planes.size() == o.depths.size(), ConfigError,
                fmt::format("model.planes: {} numbers for the {} stages of model.depths",
                            o.planes.size(), o.depths.size()));
    const models::ImageShape shape = models::image_shape(o, data);
    const std::int64_t step = std::int64_t{2} << o.depths.size();
    FOVEA_CHECK(shape.height % step == 0 && shape.width % step == 0, ConfigError,
                fmt::format("model.img_size: {} x {}; height and width must be multiples of {}",
                            shape.height, shape.width, step));
    return shape;
  }

  RlaOptions o_;
  DType activations_ = DType::kFloat32;
  nn::Conv2d* conv1_ = nullptr;
  nn::BatchNorm2d* bn1_ = nullptr;
  std::vector<Stage> stages_;
  nn::BatchNorm2d* bn2_ = nullptr;
  nn::Linear* fc_ = nullptr;
};

schema::Fields<RlaOptions> rla_fields(std::vector<std::int64_t> depths) {
  using O = RlaOptions;
  O defaults;
  defaults.depths = std::move(depths);
  schema::Fields<O> fields(defaults);
  fields.add("depths", &O::depths, at_least(1), "blocks of each stage")
      .add("planes", &O::planes, at_least(1), "channels of the 3x3 convolutions of each stage")
      .add("stem_width", &O::stem_width, at_least(1),
           "channels of the stem; null = those of the first stage in planes")
      .add("rla_channels", &O::rla_channels, at_least(1), "channels of the map across blocks")
      .add("zero_init_last", &O::zero_init_last,
           "the last batch norm of every block starts with weight 0");
  return models::add_image_fields(fields);
}

}  // namespace

FOVEA_MODEL(rla_resnet50, RlaResNet, "ResNet-50 with recurrent layer aggregation (kcla 2.7)",
            rla_fields({3, 4, 6, 3}))
FOVEA_MODEL(rla_resnet101, RlaResNet, "ResNet-101 with recurrent layer aggregation (kcla 2.7)",
            rla_fields({3, 4, 23, 3}))
