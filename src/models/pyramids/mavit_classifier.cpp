// MAViT as a classifier of images: the last map through a 1x1 convolution, batch norm and SiLU, its
// mean, and a linear layer. mala 3.7.

#include "models/counting.h"
#include "models/image_options.h"
#include "models/pyramids/mavit.h"
#include "nn/sizes.h"
#include "ops/activation.h"
#include "ops/reduce.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::MavitBackbone;
using models::MavitOptions;

struct MavitClassifierOptions : MavitOptions, models::ImageOptions {
  std::int64_t projection = 2048;
};

class Mavit final : public models::ImageClassifier {
 public:
  Mavit(const nn::Build& build, const MavitClassifierOptions& o, const DataShape& data)
      : Mavit(build, o, models::image_shape(o, data)) {}
  std::string type() const override { return "Mavit"; }

  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    return models::module_macs(events, *this);
  }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    const Tensor map = (*norm_)((*proj_)(body_.last_level(in.image, probe)));
    const Tensor pooled = ops::mean(ops::activate({.kind = UnaryOp::kSilu}, map), {2, 3});
    return {.logits = (*head_)(pooled), .embedding = pooled};
  }

 private:
  Mavit(const nn::Build& outer, const MavitClassifierOptions& o, const models::ImageShape& shape)
      : body_(child("", std::make_unique<MavitBackbone>(outer, o, shape.channels, false))) {
    nn::Build build = outer;
    build.init = nn::Init::kTruncNormal;
    proj_ = &child<nn::Conv2d>("proj", build, o.embed_dims.back(), o.projection, ops::Sizes{1});
    norm_ = &child<nn::BatchNorm2d>("norm", build, o.projection);
    head_ = &child<nn::TokenPointwise>("head", build, o.projection, shape.classes);
  }

  MavitBackbone& body_;
  nn::Conv2d* proj_ = nullptr;
  nn::BatchNorm2d* norm_ = nullptr;
  nn::TokenPointwise* head_ = nullptr;
};

schema::Fields<MavitClassifierOptions> mavit_classifier_fields(char size) {
  const MavitOptions defaults = models::mavit_size(size);
  MavitClassifierOptions o;
  static_cast<MavitOptions&>(o) = defaults;
  if (size == 'l') o.projection = 2560;
  schema::Fields<MavitClassifierOptions> fields(o);
  fields.include(models::mavit_fields(defaults))
      .add("projection", &MavitClassifierOptions::projection, nn::channel_count(),
           "channels of the map that is averaged for the head");
  return models::add_image_fields(fields);
}

}  // namespace

FOVEA_MODEL(mavit_t, Mavit, "MAViT-T (mala 4.1)", mavit_classifier_fields('t'))
FOVEA_MODEL(mavit_s, Mavit, "MAViT-S (mala 4.1)", mavit_classifier_fields('s'))
FOVEA_MODEL(mavit_b, Mavit, "MAViT-B (mala 4.1)", mavit_classifier_fields('b'))
FOVEA_MODEL(mavit_l, Mavit, "MAViT-L (mala 4.1)", mavit_classifier_fields('l'))
