#include <algorithm>

#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct BrightnessContrastOptions {
  double prob = 0.5;
  double brightness_limit = 0.2;
  double contrast_limit = 0.2;
};

class BrightnessContrast final : public PictureTransform {
 public:
  explicit BrightnessContrast(const BrightnessContrastOptions& o) : o_(o) {}
  void apply(Planes x, const TransformContext& context) const override {
    if (!happens(context.stream, o_.prob)) return;
    const auto scale = static_cast<float>(
        1 + draw_between(context.stream, 1, -o_.contrast_limit, o_.contrast_limit));
    const auto add = static_cast<float>(
        draw_between(context.stream, 2, -o_.brightness_limit, o_.brightness_limit));
    for (float& value : x.values()) value = std::clamp(value * scale + add, 0.0f, 1.0f);
  }

 private:
  BrightnessContrastOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(random_brightness_contrast, BrightnessContrast, kPictures | kMaskedPictures | kBoxedPictures,
                "x (1 + contrast) + brightness, cut to [0, 1]",
                schema::Fields<BrightnessContrastOptions>{}
                    .add("prob", &BrightnessContrastOptions::prob, schema::in_range(0, 1),
                         "probability")
                    .add("brightness_limit", &BrightnessContrastOptions::brightness_limit,
                         schema::in_range(0, 1), "brightness is uniform between - and + this")
                    .add("contrast_limit", &BrightnessContrastOptions::contrast_limit,
                         schema::in_range(0, 1), "contrast is uniform between - and + this"))

}  // namespace fovea::data
