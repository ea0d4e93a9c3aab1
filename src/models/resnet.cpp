// ResNets for small images (resnet20, resnet56, resnet110: three stages, bottleneck blocks, depth
// 9 n + 2) and for ImageNet (resnet18, resnet50, resnet101: four stages). Parameter names are
// torchvision's, which the public code of the paper shares; any layer attention sits in their
// blocks. kcla 3.1, 3.3.

#include <fmt/format.h>

#include "models/counting.h"
#include "models/model.h"
#include "models/residual_stage.h"
#include "nn/linear.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Family;
using models::BlockKind;
using models::DataShape;
using models::ResidualStage;
using models::ShortcutKind;
using schema::at_least;

enum class Stem { kConv3x3, kConv7x7Pool, kDeepPool };

struct Options {
  BlockKind block = BlockKind::kBottleneck;
  std::vector<std::int64_t> depths;
  std::vector<std::int64_t> planes;
  Stem stem = Stem::kConv7x7Pool;
  std::optional<std::int64_t> stem_width;
  std::optional<std::int64_t> deep_stem_width;
  ShortcutKind shortcut = ShortcutKind::kProjection;
  nn::Init init = nn::Init::kKaiming;
  bool zero_init_last = false;
  std::optional<schema::Component> layer_attention;
  std::optional<std::array<std::int64_t, 2>> img_size;
  std::optional<std::int64_t> in_chans;
  std::optional<std::int64_t> num_classes;
};

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

class ResNet final : public models::Model {
 public:
  ResNet(const nn::Build& outer, const Options& o, const DataShape& data) : o_(checked(o, data)) {
    nn::Build build = outer;
    build.init = o.init;
    activations_ = build.activation_dtype();
    std::int64_t width = o.stem_width.value_or(o.planes.front());
    conv1_ = &add_stem(build, o.in_chans.value_or(data.channels), width);
    bn1_ = &child<nn::BatchNorm2d>("bn1", build, width);
    std::int64_t before = 0;
    for (std::size_t s = 0; s < o.depths.size(); ++s) {
      const models::StageOptions stage{
          .block = {.kind = o.block,
                    .shortcut = o.shortcut,
                    .zero_init_last = o.zero_init_last,
                    .in = width,
                    .planes = o.planes[s],
                    .stride = s == 0 ? 1 : 2},
          .depth = o.depths[s],
          .layer_attention = o.layer_attention,
          .family = large_stem() ? Family::kImageNet : Family::kSmallImages,
          .stage = static_cast<std::int64_t>(s),
          .last_stage = s + 1 == o.depths.size(),
          .previous_channels = before};
      stages_.push_back(&child<ResidualStage>(models::stage_name(stage), build, stage));
      before = width = models::block_width(o.block, o.planes[s]);
    }
    fc_ = &child<nn::Linear>("fc", build, width, o.num_classes.value_or(data.num_classes));
  }
  std::string type() const override { return "ResNet"; }

  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    return models::module_hook_macs(events);
  }

 protected:
  Tensor forward(const Tensor& images, attention::Probe* probe) override {
    Tensor x = bn1_->with_relu((*conv1_)(ops::cast(images, activations_)));
    if (large_stem()) x = ops::max_pool(x, {3}, {2}, {1});
    layer_attention::State state;
    for (ResidualStage* stage : stages_) x = (*stage)(x, state, probe);
    x = ops::adaptive_avg_pool(x, {1});  // (b, c, 1, 1)
    return (*fc_)(ops::reshape(x, {x.size(0), x.size(1)}));
  }

 private:
  bool large_stem() const { return o_.stem != Stem::kConv3x3; }
  nn::UnaryModule& add_stem(const nn::Build& build, std::int64_t in, std::int64_t out) {
    if (o_.stem == Stem::kDeepPool) {
      const std::int64_t hidden = o_.deep_stem_width.value_or(std::max<std::int64_t>(1, out / 2));
      return child<DeepStem>("conv1", build, in, hidden, out);
    }
    const ops::ConvOptions options = large_stem() ? ops::ConvOptions{.stride = {2}, .padding = {3}}
                                                  : ops::ConvOptions{.padding = {1}};
    return child<nn::Conv2d>("conv1", build, in, out, ops::Sizes{large_stem() ? 7 : 3}, options,
                             false);
  }

  static const Options& checked(const Options& o, const DataShape& data) {
    FOVEA_CHECK(!o.depths.empty(), ConfigError, "model.depths: empty; expected one number a stage");
    FOVEA_CHECK(o.planes.size() == o.depths.size(), ConfigError,
                fmt::format("model.planes: {} numbers for the {} stages of model.depths",
                            o.planes.size(), o.depths.size()));
    FOVEA_CHECK(o.num_classes.value_or(data.num_classes) > 0, ConfigError,
                "model.num_classes: not given, and the data set has no classes");
    const auto size = o.img_size.value_or(std::array<std::int64_t, 2>{data.height, data.width});
    FOVEA_CHECK(data.height == 0 || (size[0] == data.height && size[1] == data.width), ConfigError,
                fmt::format("model.img_size: {} x {}, but the images of the data set are {} x {}",
                            size[0], size[1], data.height, data.width));
    if (o.shortcut == ShortcutKind::kZeroPad) check_widths(o);
    return o;
  }

  static void check_widths(const Options& o) {
    std::int64_t width = o.stem_width.value_or(o.planes.front());
    for (const std::int64_t planes : o.planes) {
      const std::int64_t next = models::block_width(o.block, planes);
      FOVEA_CHECK(next >= width, ConfigError,
                  fmt::format("model.shortcut: zero_pad cannot narrow {} channels to {}; set "
                              "model.shortcut=projection",
                              width, next));
      width = next;
    }
  }

  Options o_;
  DType activations_ = DType::kFloat32;
  nn::UnaryModule* conv1_ = nullptr;
  nn::BatchNorm2d* bn1_ = nullptr;
  std::vector<ResidualStage*> stages_;
  nn::Linear* fc_ = nullptr;
};

schema::Fields<Options> fields(const Options& defaults) {
  using O = Options;
  return schema::Fields<O>(defaults)
      .add_enum("block", &O::block,
                {{"basic", BlockKind::kBasic}, {"bottleneck", BlockKind::kBottleneck}},
                "two 3x3 convolutions, or 1x1, 3x3 and 1x1 with four times the channels at the end")
      .add("depths", &O::depths, at_least(1), "blocks of each stage")
      .add("planes", &O::planes, at_least(1),
           "channels of the 3x3 convolutions of each stage; the first block of every stage but "
           "the first has stride 2")
      .add_enum("stem", &O::stem,
                {{"conv3x3", Stem::kConv3x3},
                 {"conv7x7_pool", Stem::kConv7x7Pool},
                 {"deep_pool", Stem::kDeepPool}},
                "3x3 convolution of stride 1; or 7x7 of stride 2 and 3x3 max pooling of stride 2; "
                "or three 3x3, the first of stride 2, and the same pooling")
      .add("stem_width", &O::stem_width, at_least(1),
           "channels of the stem; null = those of the first stage in planes")
      .add("deep_stem_width", &O::deep_stem_width, at_least(1),
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
      .add_component("layer_attention", &O::layer_attention, layer_attention::choices(),
                     "attention across the blocks, or of channels, in every block; null = none. "
                     "Some variants change the names of blocks, as their public code does")
      .add("img_size", &O::img_size, at_least(1),
           "height and width, to count without a data set; null = the data set's")
      .add("in_chans", &O::in_chans, at_least(1), "channels of the images; null = the data set's")
      .add("num_classes", &O::num_classes, at_least(1),
           "outputs of the head; null = the data set's");
}

schema::Fields<Options> small_images(std::int64_t n) {
  Options o;
  o.depths = {n, n, n};
  o.planes = {16, 32, 64};
  o.stem = Stem::kConv3x3;
  return fields(o);
}

schema::Fields<Options> imagenet(BlockKind block, std::vector<std::int64_t> depths) {
  Options o;
  o.block = block;
  o.depths = std::move(depths);
  o.planes = {64, 128, 256, 512};
  o.zero_init_last = true;
  return fields(o);
}

}  // namespace

FOVEA_MODEL(resnet20, ResNet, "ResNet-20 for 32 x 32 images, bottleneck blocks (kcla 3.1)",
            small_images(2))
FOVEA_MODEL(resnet56, ResNet, "ResNet-56 for 32 x 32 images, bottleneck blocks (kcla 3.1)",
            small_images(6))
FOVEA_MODEL(resnet110, ResNet, "ResNet-110 for 32 x 32 images, bottleneck blocks (kcla 3.1)",
            small_images(12))
FOVEA_MODEL(resnet18, ResNet, "ResNet-18 for ImageNet, basic blocks",
            imagenet(BlockKind::kBasic, {2, 2, 2, 2}))
FOVEA_MODEL(resnet50, ResNet, "ResNet-50 for ImageNet, bottleneck blocks (kcla 3.3)",
            imagenet(BlockKind::kBottleneck, {3, 4, 6, 3}))
FOVEA_MODEL(resnet101, ResNet, "ResNet-101 for ImageNet, bottleneck blocks (kcla 3.3)",
            imagenet(BlockKind::kBottleneck, {3, 4, 23, 3}))
