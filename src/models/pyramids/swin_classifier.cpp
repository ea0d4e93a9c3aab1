// Swin as classifiers of images: a norm, the mean over the last grid, and a linear layer. mala 4.3.

#include "models/image_options.h"
#include "models/pyramids/swin.h"
#include "ops/reduce.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::SwinOptions;
using models::SwinStages;

struct SwinClassifierOptions : SwinOptions, models::ImageOptions {};

class Swin final : public models::ImageClassifier {
 public:
  Swin(const nn::Build& build, const SwinClassifierOptions& o, const DataShape& data)
      : Swin(build, o, models::image_shape(o, data)) {}
  std::string type() const override { return "Swin"; }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    const Tensor pooled = ops::mean(norm_(stages_(in.image, probe).back().x), {1});
    return {.logits = head_(pooled), .embedding = pooled};
  }
  // timm keeps a linear layer inside its head.
  std::string translated(const std::string& name) const override {
    return name.starts_with("head.fc.") ? "head." + name.substr(8) : name;
  }

 private:
  Swin(nn::Build build, const SwinClassifierOptions& o, const models::ImageShape& shape)
      : stages_(child<SwinStages>("", build, o, shape.channels, patches_of(o, shape))),
        norm_(child<nn::LayerNorm>("norm", build, stages_.levels().back().channels, 1e-5)),
        head_(child<nn::Linear>("head", starting(build), stages_.levels().back().channels,
                                shape.classes)) {}

  static nn::Build starting(nn::Build build) {
    build.init = nn::Init::kTruncNormal;
    return build;
  }
  static nn::Grid patches_of(const SwinOptions& o, const models::ImageShape& shape) {
    const auto patches = [&](std::int64_t size) {
      return (size + o.patch_size - 1) / o.patch_size;
    };
    return {patches(shape.height), patches(shape.width)};
  }

  SwinStages& stages_;
  nn::LayerNorm& norm_;
  nn::Linear& head_;
};

schema::Fields<SwinClassifierOptions> swin_classifier_fields(const char* size) {
  const SwinOptions defaults = models::swin_size(size);
  SwinClassifierOptions o;
  static_cast<SwinOptions&>(o) = defaults;
  schema::Fields<SwinClassifierOptions> fields(o);
  fields.include(models::swin_fields(defaults));
  return models::add_image_fields(fields);
}

}  // namespace

FOVEA_MODEL(swin_t, Swin, "Swin-T (mala 4.3)", swin_classifier_fields("t"))
FOVEA_MODEL(swin_s, Swin, "Swin-S (mala 4.3)", swin_classifier_fields("s"))
FOVEA_MODEL(swin_b, Swin, "Swin-B (Liu et al.)", swin_classifier_fields("b"))
