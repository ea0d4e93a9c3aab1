#include <array>
#include <cmath>
#include <numbers>

#include "data/augment/pictures/warp.h"
#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct RotateOptions {
  double prob = 0.5;
  double limit = 30;
  bool reflect = true;
};

class Rotate final : public PictureTransform {
 public:
  explicit Rotate(const RotateOptions& o) : o_(o) {}
  bool moves_pixels() const override { return true; }
  void apply(Planes x, const TransformContext& context) const override {
    if (!happens(context.stream, o_.prob)) return;
    const double angle =
        draw_between(context.stream, 1, -o_.limit, o_.limit) * std::numbers::pi / 180;
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    const double row = 0.5 * static_cast<double>(x.height - 1);
    const double column = 0.5 * static_cast<double>(x.width - 1);
    warp(x, context.mask, o_.reflect, [&](std::int64_t i, std::int64_t j) {
      const double v = static_cast<double>(i) - row;
      const double u = static_cast<double>(j) - column;
      return std::array{row + u * sine + v * cosine, column + u * cosine - v * sine};
    });
  }

 private:
  RotateOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(rotate, Rotate, kPictures | kMaskedPictures,
                "turn about the centre: images bilinear, masks nearest",
                schema::Fields<RotateOptions>{}
                    .add("prob", &RotateOptions::prob, schema::in_range(0, 1), "probability")
                    .add("limit", &RotateOptions::limit, schema::in_range(0, 180),
                         "angles are uniform between this many degrees either way")
                    .add("reflect", &RotateOptions::reflect,
                         "mirror the picture at its edges (reflect-101); false: black outside"))

}  // namespace fovea::data
