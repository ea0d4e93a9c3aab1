#include "models/resnet_backbone.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/residual_stage.h"

namespace fovea::models {
namespace {

class ResNetBackbone final : public Backbone {
 public:
  ResNetBackbone(const nn::Build& outer, const ResNetBackboneOptions& o, std::int64_t in_chans) {
    for (const auto* list : {&o.planes, &o.strides}) {
      FOVEA_CHECK(
          !o.depths.empty() && list->size() == o.depths.size(), ConfigError,
          fmt::format("model.encoder.{}: {} numbers for the {} stages of depths",
                      list == &o.planes ? "planes" : "strides", list->size(), o.depths.size()));
    }
    nn::Build build = outer;
    build.init = o.init;
    std::int64_t width = o.stem_width;
    conv1_ = &child<nn::Conv2d>("conv1", build, in_chans, width, ops::Sizes{7},
                                ops::ConvOptions{.padding = {3}}, false);
    bn1_ = &child<nn::BatchNorm2d>("bn1", build, width);
    channels_.push_back(width);
    for (std::size_t s = 0; s < o.depths.size(); ++s) {
      const StageOptions stage{.block = {.kind = o.block,
                                         .zero_init_last = o.zero_init_last,
                                         .in = width,
                                         .planes = o.planes[s],
                                         .stride = o.strides[s]},
                               .depth = o.depths[s],
                               .layer_attention = o.layer_attention,
                               .family = layer_attention::Family::kSegmentation,
                               .stage = static_cast<std::int64_t>(s),
                               .last_stage = s + 1 == o.depths.size(),
                               .previous_channels = width};  // the stem counts, too
      stages_.push_back(&child<ResidualStage>(stage_name(stage), build, stage));
      width = block_width(o.block, o.planes[s]);
      channels_.push_back(width);
    }
  }
  std::string type() const override { return "ResNetBackbone"; }

 protected:
  std::vector<Tensor> forward(const Tensor& x, attention::Probe* probe) override {
    std::vector<Tensor> levels{bn1_->with_relu((*conv1_)(x))};
    layer_attention::State state;
    for (ResidualStage* stage : stages_) levels.push_back((*stage)(levels.back(), state, probe));
    return levels;
  }

 private:
  nn::Conv2d* conv1_ = nullptr;
  nn::BatchNorm2d* bn1_ = nullptr;
  std::vector<ResidualStage*> stages_;
};

}  // namespace

schema::Fields<ResNetBackboneOptions> resnet_backbone_fields() {
  using O = ResNetBackboneOptions;
  using schema::at_least;
  return schema::Fields<O>{}
      .add_enum("block", &O::block,
                {{"basic", BlockKind::kBasic}, {"bottleneck", BlockKind::kBottleneck}},
                "two 3x3 convolutions, or 1x1, 3x3 and 1x1 with four times the channels at the end")
      .add("stem_width", &O::stem_width, at_least(1), "channels of the 7x7 stem, of stride 1")
      .add("depths", &O::depths, at_least(1), "blocks of each stage")
      .add("planes", &O::planes, at_least(1), "channels of the 3x3 convolutions of each stage")
      .add("strides", &O::strides, at_least(1), "stride of the first block of each stage")
      .add_enum("init", &O::init, {{"kaiming", nn::Init::kKaiming}, {"torch", nn::Init::kTorch}},
                "initial weights of convolutions: normal(0, sqrt(2 / fan_out)), or uniform +-1 / "
                "sqrt(fan_in)")
      .add("zero_init_last", &O::zero_init_last,
           "the last batch norm of every block starts with weight 0")
      .add_component("layer_attention", &O::layer_attention, layer_attention::choices(),
                     "attention across the blocks, in every block; null = none");
}

std::unique_ptr<Backbone> make_resnet_backbone(const nn::Build& build,
                                               const ResNetBackboneOptions& options,
                                               std::int64_t in_chans) {
  return std::make_unique<ResNetBackbone>(build, options, in_chans);
}

}  // namespace fovea::models
