#include "data/augment/transforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "data/augment/geometry.h"
#include "data/augment/interpolation_names.h"
#include "data/augment/resize.h"
#include "data/augment/transform_entry.h"
#include "schema/fields.h"
#include "schema/registry.h"

namespace fovea::data {
namespace {

class RandomCrop final : public Transform {
 public:
  explicit RandomCrop(const RandomCropOptions& o) : padding_(o.padding) {}

  void apply(Planes x, const TransformContext& context) const override {
    const std::int64_t dy = context.stream.below(2 * padding_ + 1, 0) - padding_;
    const std::int64_t dx = context.stream.below(2 * padding_ + 1, 1) - padding_;
    shift(x, -dy, -dx);
  }
  bool moves_pixels() const override { return true; }

 private:
  std::int64_t padding_;
};

class RandomResizedCrop final : public Transform {
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
  bool takes_masks() const override { return !o_.interpolation; }

  Box cut(std::int64_t height, std::int64_t width, const TransformContext& context) const override {
    for (std::uint64_t attempt = 0; attempt < 10; ++attempt) {
      const RandomStream place = context.stream.fork(attempt);
      const double share = between(o_.scale, double{place.uniform(0)});
      const double area = static_cast<double>(height * width) * share;
      const double ratio = std::exp(
          between({std::log(o_.ratio[0]), std::log(o_.ratio[1])}, double{place.uniform(1)}));
      const auto wide = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area * ratio)));
      const auto tall = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area / ratio)));
      if (tall < 1 || wide < 1 || tall > height || wide > width) continue;
      return {place.below(height - tall + 1, 1), place.below(width - wide + 1, 2), tall, wide};
    }
    return centre(height, width);
  }

 private:
  static double between(const std::array<double, 2>& range, double share) {
    return range[0] + (range[1] - range[0]) * share;
  }

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

class HorizontalFlip final : public Transform {
 public:
  explicit HorizontalFlip(const HorizontalFlipOptions& o) : prob_(o.prob) {}

  void apply(Planes x, const TransformContext& context) const override {
    if (double{context.stream.uniform(0)} < prob_) flip_horizontally(x);
  }
  bool moves_pixels() const override { return true; }

 private:
  double prob_;
};

class VerticalFlip final : public Transform {
 public:
  explicit VerticalFlip(const VerticalFlipOptions& o) : prob_(o.prob) {}

  void apply(Planes x, const TransformContext& context) const override {
    if (double{context.stream.uniform(0)} < prob_) flip_vertically(x);
  }
  bool moves_pixels() const override { return true; }

 private:
  double prob_;
};

class RandomRotation final : public Transform {
 public:
  explicit RandomRotation(const RandomRotationOptions& o) : o_(o) {}

  void apply(Planes x, const TransformContext& context) const override {
    if (double{context.stream.uniform(0)} >= o_.prob) return;
    const double drawn =
        o_.min_degrees + (o_.max_degrees - o_.min_degrees) * double{context.stream.uniform(1)};
    rotate(x, o_.degrees.value_or(drawn));
  }
  bool moves_pixels() const override { return true; }

 private:
  RandomRotationOptions o_;
};

class RandomErasing final : public Transform {
 public:
  explicit RandomErasing(const RandomErasingOptions& o) : o_(o) {}

  void apply(Planes x, const TransformContext& context) const override {
    const RandomStream& draws = context.stream;
    if (double{draws.uniform(0)} >= o_.prob) return;
    for (std::uint64_t attempt = 0; attempt < 10; ++attempt) {
      const RandomStream place = draws.fork(attempt);
      const double area = static_cast<double>(x.plane()) *
                          (o_.min_area + (o_.max_area - o_.min_area) * double{place.uniform(0)});
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

struct CropFlipOptions {
  std::int64_t padding = 4;
  double prob = 0.5;
};

class CropFlip final : public Transform {
 public:
  explicit CropFlip(const CropFlipOptions& o) : crop_({o.padding}), flip_({o.prob}) {}
  void apply(Planes x, const TransformContext& context) const override {
    crop_.apply(x, {context.stream.fork("crop"), context.mean});
    flip_.apply(x, {context.stream.fork("flip"), context.mean});
  }
  bool moves_pixels() const override { return true; }

 private:
  RandomCrop crop_;
  HorizontalFlip flip_;
};

std::unique_ptr<Transform> make_crop_flip(const CropFlipOptions& options) {
  return std::make_unique<CropFlip>(options);
}

}  // namespace

#define FOVEA_TRANSFORM_ENTRY(name) TransformEntry transform_entry_##name();
#include "data/augment/transforms.def"
#undef FOVEA_TRANSFORM_ENTRY

FOVEA_TRANSFORM(random_crop, "pad with zeros and cut the original size at a random place",
                schema::Fields<RandomCropOptions>{}.add("padding", &RandomCropOptions::padding,
                                                        schema::in_range(0, 1024),
                                                        "zero pixels on every side"))

FOVEA_TRANSFORM(
    random_resized_crop,
    "keep a random part, resized; first in the list it is cut from the picture as its file has it",
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

FOVEA_TRANSFORM(horizontal_flip, "mirror left and right",
                schema::Fields<HorizontalFlipOptions>{}.add("prob", &HorizontalFlipOptions::prob,
                                                            schema::in_range(0, 1), "probability"))

FOVEA_TRANSFORM(vertical_flip, "mirror top and bottom",
                schema::Fields<VerticalFlipOptions>{}.add("prob", &VerticalFlipOptions::prob,
                                                          schema::in_range(0, 1), "probability"))

FOVEA_TRANSFORM(
    random_rotation, "turn about the centre on the same canvas, nearest pixel, black outside",
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

FOVEA_TRANSFORM(crop_flip, "random_crop, then horizontal_flip",
                schema::Fields<CropFlipOptions>{}
                    .add("padding", &CropFlipOptions::padding, schema::in_range(0, 1024),
                         "zero pixels on every side")
                    .add("prob", &CropFlipOptions::prob, schema::in_range(0, 1),
                         "probability of the mirror image"))

FOVEA_TRANSFORM(random_erasing, "overwrite a random rectangle",
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
                         "set's mean and std, as timm's mode \"pixel\""))

namespace {

const schema::Registry<TransformEntry>& transforms() {
  static const schema::Registry<TransformEntry> all = {
#define FOVEA_TRANSFORM_ENTRY(name) transform_entry_##name(),
#include "data/augment/transforms.def"
#undef FOVEA_TRANSFORM_ENTRY
  };
  return all;
}

}  // namespace

schema::Choices transform_choices() { return transforms().choices(); }

std::unique_ptr<const Transform> make_transform(const schema::Component& component,
                                                const std::string& path) {
  return transforms().find(component.type, schema::join_path(path, "type")).make(component, path);
}

std::unique_ptr<Transform> make_random_crop(const RandomCropOptions& options) {
  FOVEA_CHECK(options.padding >= 0, ConfigError,
              fmt::format("random_crop: padding is {}; expected at least 0", options.padding));
  return std::make_unique<RandomCrop>(options);
}

std::unique_ptr<Transform> make_random_resized_crop(const RandomResizedCropOptions& options) {
  return std::make_unique<RandomResizedCrop>(options);
}

std::unique_ptr<Transform> make_horizontal_flip(const HorizontalFlipOptions& options) {
  return std::make_unique<HorizontalFlip>(options);
}

std::unique_ptr<Transform> make_vertical_flip(const VerticalFlipOptions& options) {
  return std::make_unique<VerticalFlip>(options);
}

std::unique_ptr<Transform> make_random_rotation(const RandomRotationOptions& options) {
  return std::make_unique<RandomRotation>(options);
}

std::unique_ptr<Transform> make_random_erasing(const RandomErasingOptions& options) {
  FOVEA_CHECK(
      options.min_area > 0.0 && options.min_area <= options.max_area && options.max_area <= 1.0,
      ConfigError,
      fmt::format("random_erasing: min_area {} and max_area {}; expected 0 < min_area <= "
                  "max_area <= 1",
                  options.min_area, options.max_area));
  FOVEA_CHECK(options.min_aspect > 0.0 && options.min_aspect <= 1.0, ConfigError,
              fmt::format("random_erasing: min_aspect is {}; expected above 0 and at most 1",
                          options.min_aspect));
  return std::make_unique<RandomErasing>(options);
}

void normalise(Planes x, std::span<const double> mean, std::span<const double> std) {
  FOVEA_CHECK(static_cast<std::int64_t>(mean.size()) == x.channels &&
                  static_cast<std::int64_t>(std.size()) == x.channels,
              ShapeError,
              fmt::format("normalise: {} means and {} deviations for {} channels", mean.size(),
                          std.size(), x.channels));
  for (std::int64_t c = 0; c < x.channels; ++c) {
    const auto k = static_cast<std::size_t>(c);
    const auto shift = static_cast<float>(mean[k]);
    const auto scale = static_cast<float>(1.0 / std[k]);
    float* plane = x.channel(c);
    for (std::int64_t i = 0; i < x.plane(); ++i) plane[i] = (plane[i] - shift) * scale;
  }
}

}  // namespace fovea::data
