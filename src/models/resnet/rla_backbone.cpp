#include "models/resnet/rla_backbone.h"

#include <fmt/format.h>

#include "base/error.h"
#include "nn/sizes.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

using layer_attention::Aggregation;

// Repeats the last row or column where there is an odd number of them.
Tensor made_even(const Tensor& h, int axis) {
  const std::int64_t size = h.size(axis);
  return size % 2 == 0 ? h : ops::concat({h, ops::slice(h, axis, size - 1, 1)}, axis);
}

// 2x2 means; with a repeated border those of a last row or column are of its pixels alone.
Tensor halved(const Tensor& h) { return ops::avg_pool(made_even(made_even(h, 2), 3), {2}); }

}  // namespace

schema::Fields<RlaOptions> rla_fields(const RlaOptions& defaults) {
  using O = RlaOptions;
  return schema::Fields<O>(defaults)
      .add("depths", &O::depths, nn::block_count(), "blocks of each stage")
      .add("planes", &O::planes, nn::channel_count(),
           "channels of the 3x3 convolutions of each stage")
      .add("stem_width", &O::stem_width, nn::channel_count(),
           "channels of the stem; null = those of the first stage in planes")
      .add("rla_channels", &O::rla_channels, nn::channel_count(),
           "channels of the map across blocks")
      .add("zero_init_last", &O::zero_init_last,
           "the last batch norm of every block starts with weight 0");
}

RlaOptions rla_resnet(std::vector<std::int64_t> depths) {
  RlaOptions o;
  o.depths = std::move(depths);
  return o;
}

RlaBackbone::RlaBackbone(const nn::Build& outer, const RlaOptions& o, std::int64_t in_chans,
                         const char* place)
    : o_(o), activations_(outer.activation_dtype()) {
  FOVEA_CHECK(!o.depths.empty() && o.planes.size() == o.depths.size(), ConfigError,
              fmt::format("{0}.planes: {1} numbers for the {2} stages of {0}.depths", place,
                          o.planes.size(), o.depths.size()));
  nn::Build build = outer;
  build.init = nn::Init::kKaiming;
  std::int64_t width = o.stem_width.value_or(o.planes.front());
  conv1_ = &child<nn::Conv2d>("conv1", build, in_chans, width, ops::Sizes{7},
                              ops::ConvOptions{.stride = {2}, .padding = {3}}, false);
  bn1_ = &child<nn::BatchNorm2d>("bn1", build, width);
  std::int64_t stride = 4;
  for (std::size_t s = 0; s < o.depths.size(); ++s) {
    width = add_stage(build, s, width);
    if (stages_[s].halves) stride *= 2;
    levels_.push_back({width, stride});
  }
}

std::int64_t RlaBackbone::add_stage(const nn::Build& build, std::size_t s, std::int64_t width) {
  Stage stage;
  stage.halves = s > 0;
  BlockOptions block{.zero_init_last = o_.zero_init_last,
                     .in = width,
                     .extra = o_.rla_channels,
                     .planes = o_.planes[s],
                     .stride = stage.halves ? 2 : 1};
  const std::int64_t out = block_width(block.kind, block.planes);
  for (std::int64_t i = 0; i < o_.depths[s]; ++i) {
    stage.blocks.push_back(&child<ResidualBlock>(fmt::format("stages.{}.{}", s, i), build, block));
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

RlaBackbone::End RlaBackbone::stem(const Tensor& image) {
  const Tensor x =
      ops::max_pool(bn1_->with_relu((*conv1_)(ops::cast(image, activations_))), {3}, {2}, {1});
  return {x, ops::zeros({x.size(0), o_.rla_channels, x.size(2), x.size(3)}, x.dtype(), x.device())};
}

void RlaBackbone::run(std::size_t s, End& maps, bool update_last, attention::Probe* probe) {
  const Stage& stage = stages_[s];
  for (std::size_t i = 0; i < stage.blocks.size(); ++i) {
    maps.x = (*stage.blocks[i])(maps.x, {.extra = maps.hidden});
    if (i == 0 && stage.halves) maps.hidden = halved(maps.hidden);
    if (i + 1 < stage.blocks.size() || update_last)
      maps.hidden = (*stage.aggregation)(maps.hidden, maps.x, *stage.bns[i]);
  }
  const std::string name = fmt::format("stages.{}", s);
  if (probe != nullptr) probe->record("features", maps.x, name);
  maps.x = autograd::hooked(maps.x, name);
}

RlaBackbone::End RlaBackbone::last_maps(const Tensor& image, attention::Probe* probe) {
  const auto scope = enter();
  End maps = stem(image);
  for (std::size_t s = 0; s < stages_.size(); ++s) run(s, maps, true, probe);
  return maps;
}

std::vector<Tensor> RlaBackbone::forward(const Tensor& image, attention::Probe* probe) {
  End maps = stem(image);
  std::vector<Tensor> levels;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    // Nothing reads the hidden map behind the last stage.
    run(s, maps, s + 1 < stages_.size(), probe);
    levels.push_back(maps.x);
  }
  return levels;
}

std::vector<std::string> RlaBackbone::parts_of(std::int64_t stage) const {
  if (stage == 0) return {"conv1", "bn1"};
  if (stage > std::ssize(stages_)) return {};
  std::vector<std::string> parts;
  for (const char* name : {"stages", "stage_bns", "conv_outs", "recurrent_convs"})
    parts.push_back(fmt::format("{}.{}", name, stage - 1));
  return parts;
}

}  // namespace fovea::models

namespace {

using namespace fovea;
using models::RlaBackbone;

struct RlaBackboneOptions : models::BackboneOptions, models::RlaOptions {};

schema::Fields<RlaBackboneOptions> rla_backbone_fields(std::vector<std::int64_t> depths) {
  RlaBackboneOptions o;
  static_cast<models::RlaOptions&>(o) = models::rla_resnet(std::move(depths));
  return schema::Fields<RlaBackboneOptions>(o).include(models::rla_fields(o));
}

}  // namespace

FOVEA_BACKBONE(
    rla_resnet50, RlaBackbone,
    "ResNet-50 with recurrent layer aggregation: four levels, strides 4 to 32 (kcla 2.7)",
    rla_backbone_fields({3, 4, 6, 3}))
FOVEA_BACKBONE(rla_resnet101, RlaBackbone,
               "ResNet-101 with recurrent layer aggregation: four levels, strides 4 to 32 (kcla "
               "2.7)",
               rla_backbone_fields({3, 4, 23, 3}))
