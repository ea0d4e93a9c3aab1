#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

void shift_by_draws(Planes x, std::int64_t padding, const RandomStream& draws) {
  const std::int64_t dy = draws.below(2 * padding + 1, 0) - padding;
  const std::int64_t dx = draws.below(2 * padding + 1, 1) - padding;
  shift(x, -dy, -dx);
}

struct RandomCropOptions {
  std::int64_t padding = 4;
};

/// Pads with zeros on every side and cuts the original size at a uniform place.
class RandomCrop final : public PictureTransform {
 public:
  explicit RandomCrop(const RandomCropOptions& o) : o_(o) {}
  bool moves_pixels() const override { return true; }
  void apply(Planes x, const TransformContext& context) const override {
    shift_by_draws(x, o_.padding, context.stream);
  }

 private:
  RandomCropOptions o_;
};

struct CropFlipOptions {
  std::int64_t padding = 4;
  double prob = 0.5;
};

class CropFlip final : public PictureTransform {
 public:
  explicit CropFlip(const CropFlipOptions& o) : o_(o) {}
  bool moves_pixels() const override { return true; }
  void apply(Planes x, const TransformContext& context) const override {
    shift_by_draws(x, o_.padding, context.stream.fork("crop"));
    if (happens(context.stream.fork("flip"), o_.prob)) flip_horizontally(x);
  }

 private:
  CropFlipOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(random_crop, RandomCrop, kPictures | kMaskedPictures,
                "pad with zeros and cut the original size at a random place",
                schema::Fields<RandomCropOptions>{}.add("padding", &RandomCropOptions::padding,
                                                        schema::in_range(0, 1024),
                                                        "zero pixels on every side"))

FOVEA_TRANSFORM(crop_flip, CropFlip, kPictures | kMaskedPictures,
                "random_crop, then horizontal_flip",
                schema::Fields<CropFlipOptions>{}
                    .add("padding", &CropFlipOptions::padding, schema::in_range(0, 1024),
                         "zero pixels on every side")
                    .add("prob", &CropFlipOptions::prob, schema::in_range(0, 1),
                         "probability of the mirror image"))

}  // namespace fovea::data
