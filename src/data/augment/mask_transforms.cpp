// Transforms of images with masks as albumentations has them, and the augmentation of slices of
// TransUNet. gdla 6.4. Values stay unrounded in [0, 1], where the public code rounds to 8 bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "data/augment/geometry.h"
#include "data/augment/transform_entry.h"
#include "data/augment/zoom.h"

namespace fovea::data {
namespace {

// Place i of an axis that is mirrored at its outermost pixels: 2 1 | 0 1 2 ... OpenCV's
// BORDER_REFLECT_101.
std::int64_t reflected(std::int64_t i, std::int64_t n) {
  if (n == 1) return 0;
  const std::int64_t period = 2 * (n - 1);
  i = ((i % period) + period) % period;
  return i < n ? i : period - i;
}

// Every pixel takes the old one at place(i, j), (row, column): images bilinear, masks nearest.
template <class Place>
void warp(Planes x, bool mask, bool reflect, const Place& place) {
  const std::vector<float> old(x.data, x.data + x.size());
  const auto at = [&](const float* plane, std::int64_t i, std::int64_t j) {
    if (reflect) return plane[reflected(i, x.height) * x.width + reflected(j, x.width)];
    return i < 0 || i >= x.height || j < 0 || j >= x.width ? 0.0f : plane[i * x.width + j];
  };
  for (std::int64_t i = 0; i < x.height; ++i) {
    for (std::int64_t j = 0; j < x.width; ++j) {
      const auto [row, column] = place(i, j);
      const double up = std::floor(mask ? row + 0.5 : row);
      const double left = std::floor(mask ? column + 0.5 : column);
      const auto top = static_cast<std::int64_t>(up);
      const auto first = static_cast<std::int64_t>(left);
      const auto down = static_cast<float>(row - up);
      const auto right = static_cast<float>(column - left);
      for (std::int64_t c = 0; c < x.channels; ++c) {
        const float* plane = old.data() + c * x.plane();
        float& out = x.channel(c)[i * x.width + j];
        out = at(plane, top, first);
        if (mask) continue;
        const float above = out + right * (at(plane, top, first + 1) - out);
        const float lower = at(plane, top + 1, first);
        const float below = lower + right * (at(plane, top + 1, first + 1) - lower);
        out = above + down * (below - above);
      }
    }
  }
}

// Gaussian weights of 2 radius + 1 pixels, which sum to 1.
std::vector<double> gaussian_weights(std::int64_t radius, double sigma) {
  std::vector<double> weights;
  double total = 0;
  for (std::int64_t k = -radius; k <= radius; ++k) {
    const double place = static_cast<double>(k) / sigma;
    weights.push_back(std::exp(-0.5 * place * place));
    total += weights.back();
  }
  for (double& weight : weights) weight /= total;
  return weights;
}

// Rows, then columns; mirrored at the ends.
void smooth(Planes x, std::int64_t radius, double sigma) {
  const std::vector<double> weights = gaussian_weights(radius, sigma);
  const auto along = [&](float* first, std::int64_t n, std::int64_t step) {
    std::vector<float> line(static_cast<std::size_t>(n + 2 * radius));
    for (std::int64_t i = -radius; i < n + radius; ++i)
      line[static_cast<std::size_t>(i + radius)] = first[reflected(i, n) * step];
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < weights.size(); ++k)
        sum += weights[k] * double{line[static_cast<std::size_t>(i) + k]};
      first[i * step] = static_cast<float>(sum);
    }
  };
  for (std::int64_t c = 0; c < x.channels; ++c) {
    for (std::int64_t i = 0; i < x.height; ++i) along(x.channel(c) + i * x.width, x.width, 1);
    for (std::int64_t j = 0; j < x.width; ++j) along(x.channel(c) + j, x.height, x.width);
  }
}

bool chosen(const TransformContext& context, double prob) {
  return double{context.stream.uniform(0)} < prob;
}
double between(const TransformContext& context, double low, double high, std::uint64_t which) {
  return low + (high - low) * double{context.stream.uniform(which)};
}

struct RotateOptions {
  double prob = 0.5;
  double limit = 30;
  bool reflect = true;
};

class Rotate final : public Transform {
 public:
  explicit Rotate(const RotateOptions& o) : o_(o) {}
  bool moves_pixels() const override { return true; }
  void apply(Planes x, const TransformContext& context) const override {
    if (!chosen(context, o_.prob)) return;
    const double angle = between(context, -o_.limit, o_.limit, 1) * std::numbers::pi / 180;
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

std::unique_ptr<Transform> make_rotate(const RotateOptions& o) {
  return std::make_unique<Rotate>(o);
}

struct BrightnessContrastOptions {
  double prob = 0.5;
  double brightness_limit = 0.2;
  double contrast_limit = 0.2;
};

class BrightnessContrast final : public Transform {
 public:
  explicit BrightnessContrast(const BrightnessContrastOptions& o) : o_(o) {}
  void apply(Planes x, const TransformContext& context) const override {
    if (!chosen(context, o_.prob)) return;
    const auto scale =
        static_cast<float>(1 + between(context, -o_.contrast_limit, o_.contrast_limit, 1));
    const auto add =
        static_cast<float>(between(context, -o_.brightness_limit, o_.brightness_limit, 2));
    for (float& value : x.values()) value = std::clamp(value * scale + add, 0.0f, 1.0f);
  }

 private:
  BrightnessContrastOptions o_;
};

std::unique_ptr<Transform> make_random_brightness_contrast(const BrightnessContrastOptions& o) {
  return std::make_unique<BrightnessContrast>(o);
}

struct GaussianBlurOptions {
  double prob = 0.5;
  std::array<std::int64_t, 2> blur_limit = {3, 7};
};

class GaussianBlur final : public Transform {
 public:
  explicit GaussianBlur(const GaussianBlurOptions& o) : o_(o) {}
  void apply(Planes x, const TransformContext& context) const override {
    if (!chosen(context, o_.prob)) return;
    const std::int64_t least = o_.blur_limit[0] / 2;
    const std::int64_t radius = least + context.stream.below(o_.blur_limit[1] / 2 - least + 1, 1);
    // OpenCV's rule for the size k = 2 radius + 1.
    smooth(x, radius, 0.3 * (static_cast<double>(radius) - 1) + 0.8);
  }

 private:
  GaussianBlurOptions o_;
};

std::unique_ptr<Transform> make_gaussian_blur(const GaussianBlurOptions& o) {
  return std::make_unique<GaussianBlur>(o);
}

struct ElasticOptions {
  double prob = 0.5;
  double alpha = 1;
  double sigma = 50;
};

class Elastic final : public Transform {
 public:
  explicit Elastic(const ElasticOptions& o) : o_(o) {}
  bool moves_pixels() const override { return true; }
  void apply(Planes x, const TransformContext& context) const override {
    if (!chosen(context, o_.prob)) return;
    const RandomStream noise = context.stream.fork("displacements");
    std::vector<float> moves(static_cast<std::size_t>(2 * x.plane()));
    for (std::size_t i = 0; i < moves.size(); ++i) moves[i] = 2 * noise.uniform(i) - 1;
    const Planes field{2, x.height, x.width, moves.data()};
    smooth(field, static_cast<std::int64_t>(std::ceil(3 * o_.sigma)), o_.sigma);
    warp(x, context.mask, true, [&](std::int64_t i, std::int64_t j) {
      const std::int64_t at = i * x.width + j;
      return std::array{static_cast<double>(i) + o_.alpha * double{field.channel(0)[at]},
                        static_cast<double>(j) + o_.alpha * double{field.channel(1)[at]}};
    });
  }

 private:
  ElasticOptions o_;
};

std::unique_ptr<Transform> make_elastic_transform(const ElasticOptions& o) {
  return std::make_unique<Elastic>(o);
}

struct RotFlipOptions {
  double prob = 0.5;
  std::int64_t limit = 20;
};

// With `prob` quarter turns and a mirror; of the rest with `prob` a turn by whole degrees.
class RotFlipOrRotate final : public Transform {
 public:
  explicit RotFlipOrRotate(const RotFlipOptions& o) : o_(o) {}
  bool moves_pixels() const override { return true; }
  bool turns() const override { return true; }
  bool swaps_sides(const TransformContext& context) const override {
    return chosen(context, o_.prob) && quarters(context) % 2 == 1;
  }
  void apply(Planes x, const TransformContext& context) const override {
    if (chosen(context, o_.prob)) {
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

std::unique_ptr<Transform> make_rot_flip_or_rotate(const RotFlipOptions& o) {
  return std::make_unique<RotFlipOrRotate>(o);
}

}  // namespace

#define FOVEA_TRANSFORM_ENTRY(name) TransformEntry transform_entry_##name();
#include "data/augment/transforms.def"
#undef FOVEA_TRANSFORM_ENTRY

FOVEA_TRANSFORM(rotate, "turn about the centre: images bilinear, masks nearest",
                schema::Fields<RotateOptions>{}
                    .add("prob", &RotateOptions::prob, schema::in_range(0, 1), "probability")
                    .add("limit", &RotateOptions::limit, schema::in_range(0, 180),
                         "angles are uniform between this many degrees either way")
                    .add("reflect", &RotateOptions::reflect,
                         "mirror the picture at its edges (reflect-101); false: black outside"))

FOVEA_TRANSFORM(random_brightness_contrast, "x (1 + contrast) + brightness, cut to [0, 1]",
                schema::Fields<BrightnessContrastOptions>{}
                    .add("prob", &BrightnessContrastOptions::prob, schema::in_range(0, 1),
                         "probability")
                    .add("brightness_limit", &BrightnessContrastOptions::brightness_limit,
                         schema::in_range(0, 1), "brightness is uniform between - and + this")
                    .add("contrast_limit", &BrightnessContrastOptions::contrast_limit,
                         schema::in_range(0, 1), "contrast is uniform between - and + this"))

FOVEA_TRANSFORM(gaussian_blur, "smooth by an odd kernel; masks stay",
                schema::Fields<GaussianBlurOptions>{}
                    .add("prob", &GaussianBlurOptions::prob, schema::in_range(0, 1), "probability")
                    .add("blur_limit", &GaussianBlurOptions::blur_limit, schema::in_range(3, 99),
                         "smallest and largest size of the kernel, odd")
                    .check([](const GaussianBlurOptions& o) {
                      const auto [least, most] = o.blur_limit;
                      return least <= most && least % 2 == 1 && most % 2 == 1
                                 ? std::string()
                                 : std::string(
                                       "blur_limit must be two odd numbers, the smaller "
                                       "first");
                    }))

FOVEA_TRANSFORM(elastic_transform, "displace by smoothed noise: images bilinear, masks nearest",
                schema::Fields<ElasticOptions>{}
                    .add("prob", &ElasticOptions::prob, schema::in_range(0, 1), "probability")
                    .add("alpha", &ElasticOptions::alpha, schema::at_least(0),
                         "pixels that noise of 1 displaces, before it is smoothed")
                    .add("sigma", &ElasticOptions::sigma,
                         schema::greater_than(0) && schema::at_most(200),
                         "of the Gaussian that smooths the noise, in pixels"))

FOVEA_TRANSFORM(
    rot_flip_or_rotate,
    "TransUNet's: quarter turns and a mirror, else a turn by whole degrees, nearest",
    schema::Fields<RotFlipOptions>{}
        .add("prob", &RotFlipOptions::prob, schema::in_range(0, 1),
             "probability of the first, and of the second where the first was not drawn")
        .add("limit", &RotFlipOptions::limit, schema::in_range(1, 180),
             "degrees are whole numbers in [-limit, limit)"))

}  // namespace fovea::data
