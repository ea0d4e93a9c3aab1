#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct FlipOptions {
  double prob = 0.5;
};

template <void (*kMirror)(Planes)>
class Flip final : public PictureTransform {
 public:
  explicit Flip(const FlipOptions& o) : o_(o) {}
  bool moves_pixels() const override { return true; }
  void apply(Planes x, const TransformContext& context) const override {
    if (happens(context.stream, o_.prob)) kMirror(x);
  }

 private:
  FlipOptions o_;
};

schema::Fields<FlipOptions> flip_fields() {
  return schema::Fields<FlipOptions>{}.add("prob", &FlipOptions::prob, schema::in_range(0, 1),
                                           "probability");
}

}  // namespace

FOVEA_TRANSFORM(horizontal_flip, Flip<flip_horizontally>, kPictures | kMaskedPictures,
                "mirror left and right", flip_fields())

FOVEA_TRANSFORM(vertical_flip, Flip<flip_vertically>, kPictures | kMaskedPictures,
                "mirror top and bottom", flip_fields())

}  // namespace fovea::data
