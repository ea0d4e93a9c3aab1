#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "data/augment/interpolation_names.h"
#include "data/augment/resize.h"
#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct RandomResizedCropOptions {
  std::array<double, 2> scale = {0.08, 1};
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};
  std::optional<Resampling> interpolation = {};
};

/// Keeps a part of the picture (Szegedy et al., "Going deeper with convolutions", CVPR 2015, as
/// torchvision draws it): its share of the area is uniform in `scale`, width over height
/// log-uniform in `ratio`; ten places are tried, then the largest centred part of such a ratio is
/// taken. apply() resizes it to the old size: bilinear without rounding (geometry.h, resample),
/// with an interpolation as Pillow resizes pictures of 8 bits. kcla 5.2, mala 7.1.
class RandomResizedCrop final : public PictureTransform {
 public:
  explicit RandomResizedCrop(const RandomResizedCropOptions& o) : o_(o) {}

  void apply(Planes x, const TransformContext& context) const override {
    const Box box = cut(x.height, x.width, context);
    std::vector<float> part(static_cast<std::size_t>(x.channels * box.height * box.width));
    const Planes kept{x.channels, box.height, box.width, part.data()};
    crop(x, box, kept);
    if (o_.interpolation) {
      to_planes(resize(to_image(kept), x.height, x.width, {.how = *o_.interpolation}), 255, x);
    } else {
      resample(kept, x, Resampling::kBilinear);
    }
  }
  bool moves_pixels() const override { return true; }
  bool cuts() const override { return true; }
  std::optional<Resampling> interpolation() const override { return o_.interpolation; }
  std::string option_without_masks() const override {
    return o_.interpolation ? "interpolation" : "";
  }

  Box cut(std::int64_t height, std::int64_t width, const TransformContext& context) const override {
    for (std::uint64_t attempt = 0; attempt < 10; ++attempt) {
      const RandomStream place = context.stream.fork(attempt);
      const double share = draw_between(place, 0, o_.scale[0], o_.scale[1]);
      const double area = static_cast<double>(height * width) * share;
      const double ratio =
          std::exp(draw_between(place, 1, std::log(o_.ratio[0]), std::log(o_.ratio[1])));
      const auto wide = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area * ratio)));
      const auto tall = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area / ratio)));
      if (tall < 1 || wide < 1 || tall > height || wide > width) continue;
      return {place.below(height - tall + 1, 1), place.below(width - wide + 1, 2), tall, wide};
    }
    return centre(height, width);
  }

 private:
  // All of one side, and of the other what the nearest ratio allows.
  Box centre(std::int64_t height, std::int64_t width) const {
    const auto at_least_one = [](double length) {
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::nearbyint(length)));
    };
    const auto h = static_cast<double>(height);
    const auto w = static_cast<double>(width);
    const std::int64_t tall = std::min(height, at_least_one(w / o_.ratio[0]));
    const std::int64_t wide = std::min(width, at_least_one(h * o_.ratio[1]));
    return {(height - tall) / 2, (width - wide) / 2, tall, wide};
  }

  RandomResizedCropOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(
    random_resized_crop, RandomResizedCrop, kPictures | kMaskedPictures,
    "keep a random part, resized; as the first of the list it is cut from the picture at its "
    "file's size",
    schema::Fields<RandomResizedCropOptions>{}
        .add("scale", &RandomResizedCropOptions::scale,
             schema::greater_than(0) && schema::at_most(1),
             "smallest and largest share of the area")
        .add("ratio", &RandomResizedCropOptions::ratio, schema::greater_than(0),
             "smallest and largest width over height, between which it is log-uniform")
        .add_enum("interpolation", &RandomResizedCropOptions::interpolation, interpolation_names(),
                  "how it is resized, as PIL does; null: as the data set resizes its pictures")
        .check([](const RandomResizedCropOptions& o) {
          return o.scale[0] <= o.scale[1] && o.ratio[0] <= o.ratio[1]
                     ? std::string()
                     : std::string("scale and ratio must each be a smallest and a largest number");
        }))

}  // namespace fovea::data
