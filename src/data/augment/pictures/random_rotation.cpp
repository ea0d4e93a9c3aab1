#include <optional>

#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct RandomRotationOptions {
  double prob = 0.5;
  double min_degrees = 0;
  double max_degrees = 360;
  std::optional<double> degrees;  // one angle for all instead
};

/// Turns counter-clockwise by an angle uniform in [min_degrees, max_degrees) (geometry.h, rotate).
/// kcla 5.4.
class RandomRotation final : public PictureTransform {
 public:
  explicit RandomRotation(const RandomRotationOptions& o) : o_(o) {}
  bool moves_pixels() const override { return true; }
  void apply(Planes x, const TransformContext& context) const override {
    if (!happens(context.stream, o_.prob)) return;
    rotate(x, o_.degrees.value_or(draw_between(context.stream, 1, o_.min_degrees, o_.max_degrees)));
  }

 private:
  RandomRotationOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(
    random_rotation, RandomRotation, kPictures | kMaskedPictures,
    "turn about the centre on the same canvas, nearest pixel, black outside",
    schema::Fields<RandomRotationOptions>{}
        .add("prob", &RandomRotationOptions::prob, schema::in_range(0, 1), "probability")
        .add("min_degrees", &RandomRotationOptions::min_degrees, schema::in_range(-360, 360),
             "smallest angle, counter-clockwise")
        .add("max_degrees", &RandomRotationOptions::max_degrees, schema::in_range(-360, 360),
             "largest angle")
        .add("degrees", &RandomRotationOptions::degrees, schema::in_range(-360, 360),
             "the one angle of every rotation, as in the public code of kcla (5.4); null: drawn "
             "for each sample")
        .check([](const RandomRotationOptions& o) {
          return o.min_degrees <= o.max_degrees ? std::string()
                                                : std::string("min_degrees is above max_degrees");
        }))

}  // namespace fovea::data
