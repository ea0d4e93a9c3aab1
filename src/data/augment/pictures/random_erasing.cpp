#include <cmath>

#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct RandomErasingOptions {
  double prob = 0.25;
  double min_area = 0.02;
  double max_area = 1.0 / 3.0;
  double min_aspect = 0.3;
  std::string fill = "mean";
};

/// Overwrites one rectangle (Zhong et al., "Random erasing data augmentation", AAAI 2020): its
/// share of the area is uniform in [min_area, max_area], its aspect ratio log-uniform in
/// [min_aspect, 1 / min_aspect]; ten places are tried. fill: "mean" (of the data set, which is zero
/// after normalisation), "zero", "noise" (uniform), or "pixel" (normal, of the data set's mean and
/// deviation; timm's mode of that name). mala 7.1.
class RandomErasing final : public PictureTransform {
 public:
  explicit RandomErasing(const RandomErasingOptions& o) : o_(o) {}

  void apply(Planes x, const TransformContext& context) const override {
    const RandomStream& draws = context.stream;
    if (!happens(draws, o_.prob)) return;
    for (std::uint64_t attempt = 0; attempt < 10; ++attempt) {
      const RandomStream place = draws.fork(attempt);
      const double area =
          static_cast<double>(x.plane()) * draw_between(place, 0, o_.min_area, o_.max_area);
      const double aspect =
          std::exp(std::log(o_.min_aspect) * (1.0 - 2.0 * double{place.uniform(1)}));
      const auto tall = static_cast<std::int64_t>(std::floor(std::sqrt(area * aspect) + 0.5));
      const auto wide = static_cast<std::int64_t>(std::floor(std::sqrt(area / aspect) + 0.5));
      if (tall < 1 || wide < 1 || tall > x.height || wide > x.width) continue;
      const std::int64_t top = place.below(x.height - tall + 1, 1);
      const std::int64_t left = place.below(x.width - wide + 1, 2);
      fill(x, {top, left, tall, wide}, context);
      return;
    }
  }

 private:
  void fill(Planes x, Box box, const TransformContext& context) const {
    const RandomStream noise = context.stream.fork("fill");
    for (std::int64_t c = 0; c < x.channels; ++c) {
      const auto of_channel = [&](std::span<const double> values, double otherwise) {
        const auto k = static_cast<std::size_t>(c);
        return k < values.size() ? values[k] : otherwise;
      };
      const double mean = of_channel(context.mean, 0), deviation = of_channel(context.std, 1);
      for (std::int64_t i = box.top; i < box.top + box.height; ++i) {
        for (std::int64_t j = box.left; j < box.left + box.width; ++j) {
          const std::int64_t at = (c * x.height + i) * x.width + j;
          const auto draw = static_cast<std::uint64_t>(at);
          if (o_.fill == "noise") {
            x.data[at] = noise.uniform(draw);
          } else if (o_.fill == "pixel") {
            x.data[at] = static_cast<float>(mean + deviation * noise.normal(draw));
          } else {
            x.data[at] = o_.fill == "mean" ? static_cast<float>(mean) : 0.0f;
          }
        }
      }
    }
  }

  RandomErasingOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(random_erasing, RandomErasing, kPictures | kMaskedPictures | kBoxedPictures,
                "overwrite a random rectangle",
                schema::Fields<RandomErasingOptions>{}
                    .add("prob", &RandomErasingOptions::prob, schema::in_range(0, 1), "probability")
                    .add("min_area", &RandomErasingOptions::min_area,
                         schema::greater_than(0) && schema::at_most(1),
                         "smallest share of the area")
                    .add("max_area", &RandomErasingOptions::max_area,
                         schema::greater_than(0) && schema::at_most(1), "largest share of the area")
                    .add("min_aspect", &RandomErasingOptions::min_aspect,
                         schema::greater_than(0) && schema::at_most(1),
                         "height over width is log-uniform between this and its reciprocal")
                    .add("fill", &RandomErasingOptions::fill,
                         schema::one_of({"mean", "zero", "noise", "pixel"}),
                         "mean of the data set, zero, uniform noise, or normal noise of the data "
                         "set's mean and std, as timm's mode \"pixel\"")
                    .check([](const RandomErasingOptions& o) {
                      return o.min_area <= o.max_area ? std::string()
                                                      : std::string("min_area is above max_area");
                    }))

}  // namespace fovea::data
