#include "models/resnet/resnet_backbone.h"

#include <fmt/format.h>

#include "base/error.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"

namespace fovea::models {
namespace {

using layer_attention::Family;

// Three 3x3 convolutions instead of one of 7x7, with BN and ReLU between them: names 0, 1, 3, 4, 6.
class DeepStem final : public nn::UnaryModule {
 public:
  DeepStem(const nn::Build& build, std::int64_t in, std::int64_t hidden, std::int64_t out)
      : bn1_(child<nn::BatchNorm2d>("1", build, hidden)),
        bn2_(child<nn::BatchNorm2d>("4", build, hidden)) {
    const auto conv = [&](const char* name, std::int64_t from, std::int64_t to,
                          std::int64_t stride) {
      const ops::ConvOptions options{.stride = {stride}, .padding = {1}};
      convs_.push_back(&child<nn::Conv2d>(name, build, from, to, ops::Sizes{3}, options, false));
    };
    conv("0", in, hidden, 2);
    conv("3", hidden, hidden, 1);
    conv("6", hidden, out, 1);
  }
  std::string type() const override { return "DeepStem"; }

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor y = bn1_.with_relu((*convs_[0])(x));
    return (*convs_[2])(bn2_.with_relu((*convs_[1])(y)));
  }

 private:
  nn::BatchNorm2d& bn1_;
  nn::BatchNorm2d& bn2_;
  std::vector<nn::Conv2d*> convs_;
};

bool pools(ResNetStem stem) {
  return stem == ResNetStem::kConv7x7Pool || stem == ResNetStem::kDeepPool;
}

Family family_of(ResNetStem stem) {
  if (stem == ResNetStem::kConv3x3) return Family::kSmallImages;
  return stem == ResNetStem::kConv7x7 ? Family::kSegmentation : Family::kImageNet;
}

void check_lengths(const ResNetOptions& o, const char* place) {
  FOVEA_CHECK(!o.depths.empty(), ConfigError,
              fmt::format("{}.depths: empty; expected one number a stage", place));
  const auto check = [&](const char* key, std::size_t size) {
    FOVEA_CHECK(size == o.depths.size(), ConfigError,
                fmt::format("{}.{}: {} numbers for the {} stages of {}.depths", place, key, size,
                            o.depths.size(), place));
  };
  check("planes", o.planes.size());
  if (o.strides) check("strides", o.strides->size());
}

void check_widths(const ResNetOptions& o, const char* place) {
  if (o.shortcut != ShortcutKind::kZeroPad) return;
  std::int64_t width = o.stem_width.value_or(o.planes.front());
  for (const std::int64_t planes : o.planes) {
    const std::int64_t next = block_width(o.block, planes);
    FOVEA_CHECK(next >= width, ConfigError,
                fmt::format("{0}.shortcut: zero_pad cannot narrow {1} channels to {2}; set "
                            "{0}.shortcut=projection",
                            place, width, next));
    width = next;
  }
}

}  // namespace

schema::Fields<ResNetOptions> resnet_fields(const ResNetOptions& defaults) {
  using O = ResNetOptions;
  return schema::Fields<O>(defaults)
      .add_enum("block", &O::block,
                {{"basic", BlockKind::kBasic}, {"bottleneck", BlockKind::kBottleneck}},
                "two 3x3 convolutions, or 1x1, 3x3 and 1x1 with four times the channels at the end")
      .add("depths", &O::depths, nn::block_count(), "blocks of each stage")
      .add("planes", &O::planes, nn::channel_count(),
           "channels of the 3x3 convolutions of each stage")
      .add("strides", &O::strides, nn::side_length(),
           "stride of the first block of each stage; null = 1, then 2")
      .add_enum("stem", &O::stem,
                {{"conv3x3", ResNetStem::kConv3x3},
                 {"conv7x7", ResNetStem::kConv7x7},
                 {"conv7x7_pool", ResNetStem::kConv7x7Pool},
                 {"deep_pool", ResNetStem::kDeepPool}},
                "a convolution of stride 1; or 7x7 of stride 2 and 3x3 max pooling of stride 2; or "
                "three 3x3, the first of stride 2, and the same pooling")
      .add("stem_width", &O::stem_width, nn::channel_count(),
           "channels of the stem; null = those of the first stage in planes")
      .add("deep_stem_width", &O::deep_stem_width, nn::channel_count(),
           "channels of the first two convolutions of deep_pool; null = half of the stem's")
      .add_enum("shortcut", &O::shortcut,
                {{"zero_pad", ShortcutKind::kZeroPad},
                 {"projection", ShortcutKind::kProjection},
                 {"projection_all", ShortcutKind::kProjectionAll}},
                "where stride or width change: zeros for the new channels, or a 1x1 convolution; "
                "or that in every block (options A, B, C of the ResNet paper)")
      .add_enum("init", &O::init, {{"kaiming", nn::Init::kKaiming}, {"torch", nn::Init::kTorch}},
                "initial weights of convolutions: normal(0, sqrt(2 / fan_out)), or uniform +-1 / "
                "sqrt(fan_in)")
      .add("zero_init_last", &O::zero_init_last,
           "the last batch norm of every block starts with weight 0")
      .add_component("layer_attention", &O::layer_attention, layer_attention::variants().choices(),
                     "attention across the blocks, or of channels, in every block; null = none. "
                     "Some variants change the names of blocks, as their public code does");
}

ResNetOptions imagenet_resnet(BlockKind block, std::vector<std::int64_t> depths) {
  ResNetOptions o;
  o.block = block;
  o.depths = std::move(depths);
  o.planes = {64, 128, 256, 512};
  o.zero_init_last = true;
  return o;
}

ResNetBackbone::ResNetBackbone(const nn::Build& outer, const ResNetOptions& o,
                               std::int64_t in_chans, const char* place)
    : o_(o), activations_(outer.activation_dtype()) {
  check_lengths(o, place);
  check_widths(o, place);
  nn::Build build = outer;
  build.init = o.init;
  std::int64_t width = o.stem_width.value_or(o.planes.front());
  conv1_ = &add_stem(build, in_chans, width);
  bn1_ = &child<nn::BatchNorm2d>("bn1", build, width);
  const bool stem_is_level = o.stem == ResNetStem::kConv7x7;
  if (stem_is_level) levels_.push_back({width, 1});
  // Where the stem is a level, its map is handed to the layer attention as a stage's is.
  std::int64_t before = stem_is_level ? width : 0;
  std::int64_t reduction = pools(o.stem) ? 4 : 1;
  for (std::size_t s = 0; s < o.depths.size(); ++s) {
    const std::int64_t stride = o.strides ? (*o.strides)[s] : s == 0 ? 1 : 2;
    const StageOptions stage{.block = {.kind = o.block,
                                       .shortcut = o.shortcut,
                                       .zero_init_last = o.zero_init_last,
                                       .in = width,
                                       .planes = o.planes[s],
                                       .stride = stride},
                             .depth = o.depths[s],
                             .layer_attention = o.layer_attention,
                             .family = family_of(o.stem),
                             .stage = static_cast<std::int64_t>(s),
                             .last_stage = s + 1 == o.depths.size(),
                             .previous_channels = before};
    stage_names_.push_back(stage_name(stage));
    stages_.push_back(&child<ResidualStage>(stage_names_.back(), build, stage));
    before = width = block_width(o.block, o.planes[s]);
    reduction *= stride;
    levels_.push_back({width, reduction});
  }
}

nn::UnaryModule& ResNetBackbone::add_stem(const nn::Build& build, std::int64_t in,
                                          std::int64_t out) {
  if (o_.stem == ResNetStem::kDeepPool) {
    const std::int64_t hidden = o_.deep_stem_width.value_or(std::max<std::int64_t>(1, out / 2));
    return child<DeepStem>("conv1", build, in, hidden, out);
  }
  const std::int64_t kernel = o_.stem == ResNetStem::kConv3x3 ? 3 : 7;
  const ops::ConvOptions options{.stride = {pools(o_.stem) ? 2 : 1}, .padding = {kernel / 2}};
  return child<nn::Conv2d>("conv1", build, in, out, ops::Sizes{kernel}, options, false);
}

Tensor ResNetBackbone::run(const Tensor& image, attention::Probe* probe,
                           std::vector<Tensor>* levels) {
  Tensor x = bn1_->with_relu((*conv1_)(ops::cast(image, activations_)));
  if (levels != nullptr && o_.stem == ResNetStem::kConv7x7) levels->push_back(x);
  if (pools(o_.stem)) x = ops::max_pool(x, {3}, {2}, {1});
  layer_attention::State state;
  for (ResidualStage* stage : stages_) {
    x = (*stage)(x, state, probe);
    if (levels != nullptr) levels->push_back(x);
  }
  return x;
}

Tensor ResNetBackbone::last_level(const Tensor& image, attention::Probe* probe) {
  const auto scope = enter();
  return run(image, probe, nullptr);
}

std::vector<Tensor> ResNetBackbone::forward(const Tensor& image, attention::Probe* probe) {
  std::vector<Tensor> levels;
  run(image, probe, &levels);
  return levels;
}

std::vector<std::string> ResNetBackbone::parts_of(std::int64_t stage) const {
  if (stage == 0) return {"conv1", "bn1"};
  if (stage > std::ssize(stage_names_)) return {};
  return {stage_names_[static_cast<std::size_t>(stage - 1)]};
}

}  // namespace fovea::models

namespace {

using namespace fovea;
using models::BlockKind;
using models::ResNetBackbone;

struct ResNetBackboneOptions : models::BackboneOptions, models::ResNetOptions {};

schema::Fields<ResNetBackboneOptions> resnet_backbone_fields(
    const models::ResNetOptions& defaults) {
  ResNetBackboneOptions o;
  static_cast<models::ResNetOptions&>(o) = defaults;
  return schema::Fields<ResNetBackboneOptions>(o).include(models::resnet_fields(defaults));
}

models::ResNetOptions reduced() {
  models::ResNetOptions o;
  o.block = BlockKind::kBasic;
  o.depths = {2, 2, 2, 2};
  o.planes = {32, 64, 128, 128};
  o.strides = {2, 2, 2, 1};
  o.stem = models::ResNetStem::kConv7x7;
  o.stem_width = 16;
  return o;
}

}  // namespace

FOVEA_BACKBONE(resnet18, ResNetBackbone, "ResNet-18: four levels, strides 4 to 32",
               resnet_backbone_fields(models::imagenet_resnet(BlockKind::kBasic, {2, 2, 2, 2})))
FOVEA_BACKBONE(resnet50, ResNetBackbone, "ResNet-50: four levels, strides 4 to 32",
               resnet_backbone_fields(models::imagenet_resnet(BlockKind::kBottleneck,
                                                              {3, 4, 6, 3})))
FOVEA_BACKBONE(resnet101, ResNetBackbone, "ResNet-101: four levels, strides 4 to 32",
               resnet_backbone_fields(models::imagenet_resnet(BlockKind::kBottleneck,
                                                              {3, 4, 23, 3})))
FOVEA_BACKBONE(resnet18_reduced, ResNetBackbone,
               "ResNet-18 of reduced width: five levels, strides 1 to 8 (kcla 3.5)",
               resnet_backbone_fields(reduced()))
