// PVTv2 as classifiers of images: the mean over the last grid, and a linear layer. gdla 3.1.

#include "models/counting.h"
#include "models/image_options.h"
#include "models/pyramids/pvt_v2.h"
#include "ops/reduce.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::PvtV2Backbone;
using models::PvtV2Options;

struct PvtV2ClassifierOptions : PvtV2Options, models::ImageOptions {};

class PvtV2 final : public models::ImageClassifier {
 public:
  PvtV2(const nn::Build& build, const PvtV2ClassifierOptions& o, const DataShape& data)
      : PvtV2(build, o, models::image_shape(o, data)) {}
  std::string type() const override { return "PvtV2"; }

  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    return models::ptflops_macs(events, *this);
  }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    const Tensor pooled = ops::mean(body_(in.image, probe).back(), {2, 3});
    return {.logits = (*head_)(pooled), .embedding = pooled};
  }

 private:
  PvtV2(const nn::Build& build, const PvtV2ClassifierOptions& o, const models::ImageShape& shape)
      : body_(child("", std::make_unique<PvtV2Backbone>(build, o, shape.channels))) {
    nn::Build head = build;
    head.init = nn::Init::kPvt;
    head_ = &child<nn::Linear>("head", head, o.embed_dims.back(), shape.classes);
  }

  PvtV2Backbone& body_;
  nn::Linear* head_ = nullptr;
};

schema::Fields<PvtV2ClassifierOptions> pvt_v2_classifier_fields(const char* size) {
  const PvtV2Options defaults = models::pvt_v2_size(size);
  PvtV2ClassifierOptions o;
  static_cast<PvtV2Options&>(o) = defaults;
  schema::Fields<PvtV2ClassifierOptions> fields(o);
  fields.include(models::pvt_v2_fields(defaults));
  return models::add_image_fields(fields);
}

}  // namespace

FOVEA_MODEL(pvt_v2_b0, PvtV2, "PVTv2-B0 (gdla 3.1)", pvt_v2_classifier_fields("b0"))
FOVEA_MODEL(pvt_v2_b1, PvtV2, "PVTv2-B1 (gdla 3.1)", pvt_v2_classifier_fields("b1"))
FOVEA_MODEL(pvt_v2_b2, PvtV2, "PVTv2-B2 (gdla 3.1)", pvt_v2_classifier_fields("b2"))
FOVEA_MODEL(pvt_v2_b2_li, PvtV2, "PVTv2-B2 with linear attention to 7 x 7 places (gdla 3.1)",
            pvt_v2_classifier_fields("b2_li"))
FOVEA_MODEL(pvt_v2_b3, PvtV2, "PVTv2-B3 (gdla 3.1)", pvt_v2_classifier_fields("b3"))
FOVEA_MODEL(pvt_v2_b4, PvtV2, "PVTv2-B4 (gdla 3.1)", pvt_v2_classifier_fields("b4"))
FOVEA_MODEL(pvt_v2_b5, PvtV2, "PVTv2-B5 (gdla 3.1)", pvt_v2_classifier_fields("b5"))
