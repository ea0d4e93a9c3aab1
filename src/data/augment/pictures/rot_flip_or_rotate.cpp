#include "data/augment/transform_entry.h"
#include "data/augment/zoom.h"

namespace fovea::data {
namespace {

struct RotFlipOptions {
  double prob = 0.5;
  std::int64_t limit = 20;
};

// With `prob` quarter turns and a mirror; of the rest with `prob` a turn by whole degrees.
class RotFlipOrRotate final : public PictureTransform {
 public:
  explicit RotFlipOrRotate(const RotFlipOptions& o) : o_(o) {}
  bool moves_pixels() const override { return true; }
  bool turns() const override { return true; }
  bool swaps_sides(const TransformContext& context) const override {
    return happens(context.stream, o_.prob) && quarters(context) % 2 == 1;
  }
  void apply(Planes x, const TransformContext& context) const override {
    if (happens(context.stream, o_.prob)) {
      const Planes turned = rot90(x, quarters(context));
      context.stream.below(2, 2) == 0 ? flip_vertically(turned) : flip_horizontally(turned);
    } else if (double{context.stream.uniform(3)} < o_.prob) {
      rotate_nearest(x, static_cast<double>(context.stream.below(2 * o_.limit, 4) - o_.limit));
    }
  }

 private:
  static std::int64_t quarters(const TransformContext& context) {
    return context.stream.below(4, 1);
  }
  RotFlipOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(
    rot_flip_or_rotate, RotFlipOrRotate, kPictures | kMaskedPictures,
    "TransUNet's: quarter turns and a mirror, else a turn by whole degrees, nearest",
    schema::Fields<RotFlipOptions>{}
        .add("prob", &RotFlipOptions::prob, schema::in_range(0, 1),
             "probability of the first, and of the second where the first was not drawn")
        .add("limit", &RotFlipOptions::limit, schema::in_range(1, 180),
             "degrees are whole numbers in [-limit, limit)"))

}  // namespace fovea::data
