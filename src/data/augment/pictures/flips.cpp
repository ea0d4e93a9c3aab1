#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct FlipOptions {
  double prob = 0.5;
};

template <void (*kMirror)(Planes), void (BoxedPicture::*kMirrorAll)()>
class Flip final : public PictureTransform, public BoxTransform {
 public:
  explicit Flip(const FlipOptions& o) : o_(o) {}
  bool moves_pixels() const override { return true; }
  void apply(Planes x, const TransformContext& context) const override {
    if (happens(context.stream, o_.prob)) kMirror(x);
  }
  void apply(BoxedPicture& picture, const TransformContext& context) const override {
    if (happens(context.stream, o_.prob)) (picture.*kMirrorAll)();
  }

 private:
  FlipOptions o_;
};

schema::Fields<FlipOptions> flip_fields() {
  return schema::Fields<FlipOptions>{}.add("prob", &FlipOptions::prob, schema::in_range(0, 1),
                                           "probability");
}

}  // namespace

using HorizontalFlip = Flip<flip_horizontally, &BoxedPicture::flip_horizontally>;
using VerticalFlip = Flip<flip_vertically, &BoxedPicture::flip_vertically>;

FOVEA_TRANSFORM(horizontal_flip, HorizontalFlip, kPictures | kMaskedPictures | kBoxedPictures,
                "mirror left and right", flip_fields())

FOVEA_TRANSFORM(vertical_flip, VerticalFlip, kPictures | kMaskedPictures | kBoxedPictures,
                "mirror top and bottom", flip_fields())

}  // namespace fovea::data
