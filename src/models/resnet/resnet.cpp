// ResNets for small images (resnet20, resnet56, resnet110: three stages, bottleneck blocks, depth
// 9 n + 2) and for ImageNet (resnet18, resnet50, resnet101: four stages). Parameter names are
// torchvision's, which the public code of the paper shares; any layer attention sits in their
// blocks. kcla 3.1, 3.3.

#include "models/counting.h"
#include "models/image_options.h"
#include "models/resnet/resnet_backbone.h"
#include "nn/linear.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::BlockKind;
using models::DataShape;
using models::ResNetBackbone;
using models::ResNetOptions;

struct ResNetClassifierOptions : ResNetOptions, models::ImageOptions {};

class ResNet final : public models::ImageClassifier {
 public:
  ResNet(const nn::Build& build, const ResNetClassifierOptions& o, const DataShape& data)
      : ResNet(build, o, models::image_shape(o, data)) {}
  std::string type() const override { return "ResNet"; }

  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    return models::module_hook_macs(events);
  }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    const Tensor x = ops::adaptive_avg_pool(body_.last_level(in.image, probe), {1});
    const Tensor pooled = ops::reshape(x, {x.size(0), x.size(1)});  // from (b, c, 1, 1)
    return {.logits = (*fc_)(pooled), .embedding = pooled};
  }

 private:
  ResNet(const nn::Build& build, const ResNetClassifierOptions& o, const models::ImageShape& shape)
      : body_(child("", std::make_unique<ResNetBackbone>(build, o, shape.channels, "model"))) {
    nn::Build head = build;
    head.init = o.init;
    fc_ = &child<nn::Linear>("fc", head, body_.levels().back().channels, shape.classes);
  }

  ResNetBackbone& body_;
  nn::Linear* fc_ = nullptr;
};

schema::Fields<ResNetClassifierOptions> resnet_classifier_fields(const ResNetOptions& defaults) {
  using O = ResNetClassifierOptions;
  O o;
  static_cast<ResNetOptions&>(o) = defaults;
  schema::Fields<O> fields(o);
  fields.include(models::resnet_fields(defaults));
  return models::add_image_fields(fields);
}

schema::Fields<ResNetClassifierOptions> small_images(std::int64_t n) {
  ResNetOptions o;
  o.depths = {n, n, n};
  o.planes = {16, 32, 64};
  o.stem = models::ResNetStem::kConv3x3;
  return resnet_classifier_fields(o);
}

schema::Fields<ResNetClassifierOptions> imagenet(BlockKind block,
                                                 std::vector<std::int64_t> depths) {
  return resnet_classifier_fields(models::imagenet_resnet(block, std::move(depths)));
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
