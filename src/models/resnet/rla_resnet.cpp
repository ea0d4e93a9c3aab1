// Classifiers over ResNets with recurrent layer aggregation: they also read the hidden map. Names
// are those of its public code. kcla 2.7, row "+RLA_g" of Table II.

#include <fmt/format.h>

#include "models/counting.h"
#include "models/image_options.h"
#include "models/resnet/rla_backbone.h"
#include "nn/linear.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::RlaBackbone;
using models::RlaOptions;

struct RlaClassifierOptions : RlaOptions, models::ImageOptions {};

class RlaResNet final : public models::ImageClassifier {
 public:
  RlaResNet(const nn::Build& build, const RlaClassifierOptions& o, const DataShape& data)
      : RlaResNet(build, o, checked(o, data)) {}
  std::string type() const override { return "RlaResNet"; }

  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    return models::module_hook_macs(events);
  }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    const auto [x, hidden] = body_.last_maps(in.image, probe);
    const Tensor y = ops::adaptive_avg_pool(ops::concat({x, bn2_->with_relu(hidden)}, 1), {1});
    const Tensor pooled = ops::reshape(y, {y.size(0), y.size(1)});
    return {.logits = (*fc_)(pooled), .embedding = pooled};
  }

 private:
  RlaResNet(const nn::Build& outer, const RlaClassifierOptions& o, const models::ImageShape& shape)
      : body_(child("", std::make_unique<RlaBackbone>(outer, o, shape.channels, "model"))) {
    nn::Build build = outer;
    build.init = nn::Init::kKaiming;
    bn2_ = &child<nn::BatchNorm2d>("bn2", build, o.rla_channels);
    fc_ = &child<nn::Linear>("fc", build, body_.levels().back().channels + o.rla_channels,
                             shape.classes);
  }

  static models::ImageShape checked(const RlaClassifierOptions& o, const DataShape& data) {
    const models::ImageShape shape = models::image_shape(o, data);
    const std::int64_t step = std::int64_t{2} << o.depths.size();
    FOVEA_CHECK(shape.height % step == 0 && shape.width % step == 0, ConfigError,
                fmt::format("model.img_size: {} x {}; height and width must be multiples of {}",
                            shape.height, shape.width, step));
    return shape;
  }

  RlaBackbone& body_;
  nn::BatchNorm2d* bn2_ = nullptr;
  nn::Linear* fc_ = nullptr;
};

schema::Fields<RlaClassifierOptions> rla_classifier_fields(std::vector<std::int64_t> depths) {
  RlaClassifierOptions o;
  static_cast<RlaOptions&>(o) = models::rla_resnet(std::move(depths));
  schema::Fields<RlaClassifierOptions> fields(o);
  fields.include(models::rla_fields(o));
  return models::add_image_fields(fields);
}

}  // namespace

FOVEA_MODEL(rla_resnet50, RlaResNet, "ResNet-50 with recurrent layer aggregation (kcla 2.7)",
            rla_classifier_fields({3, 4, 6, 3}))
FOVEA_MODEL(rla_resnet101, RlaResNet, "ResNet-101 with recurrent layer aggregation (kcla 2.7)",
            rla_classifier_fields({3, 4, 23, 3}))
