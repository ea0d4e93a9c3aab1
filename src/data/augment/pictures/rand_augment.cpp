#include "data/augment/pictures/rand_augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "data/augment/interpolation_names.h"
#include "data/augment/pictures/picture_ops.h"
#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

constexpr double kMostLevel = 10;

struct NamedOp {
  AugmentOp op;
  std::string_view name;
};
constexpr std::array<NamedOp, 15> kOps = {{{AugmentOp::kAutoContrast, "AutoContrast"},
                                           {AugmentOp::kEqualize, "Equalize"},
                                           {AugmentOp::kInvert, "Invert"},
                                           {AugmentOp::kRotate, "Rotate"},
                                           {AugmentOp::kPosterize, "Posterize"},
                                           {AugmentOp::kSolarize, "Solarize"},
                                           {AugmentOp::kSolarizeAdd, "SolarizeAdd"},
                                           {AugmentOp::kColour, "Color"},
                                           {AugmentOp::kContrast, "Contrast"},
                                           {AugmentOp::kBrightness, "Brightness"},
                                           {AugmentOp::kSharpness, "Sharpness"},
                                           {AugmentOp::kShearX, "ShearX"},
                                           {AugmentOp::kShearY, "ShearY"},
                                           {AugmentOp::kTranslateX, "TranslateXRel"},
                                           {AugmentOp::kTranslateY, "TranslateYRel"}}};

// Factor of an enhancement: 1 changes nothing.
double enhancement(double share, bool other_way, bool increasing) {
  if (!increasing) return share * 1.8 + 0.1;
  return std::max(0.1, 1 + (other_way ? -1 : 1) * share * 0.9);
}

struct RandAugmentOptions {
  double magnitude = 9;
  double magnitude_std = 0.5;
  std::int64_t num_ops = 2;
  double prob = 0.5;
  bool increasing = true;
  Resampling interpolation = Resampling::kBicubic;
};

class RandAugment final : public PictureTransform {
 public:
  explicit RandAugment(const RandAugmentOptions& o) : o_(o) {}

  void apply(Planes x, const TransformContext& context) const override {
    AugmentStyle style{o_.increasing, o_.interpolation, {}};
    for (std::int64_t c = 0; c < x.channels; ++c) {
      const auto k = static_cast<std::size_t>(c);
      const double mean = k < context.mean.size() ? context.mean[k] : 0.5;
      style.fill.push_back(static_cast<std::uint8_t>(std::nearbyint(255 * std::min(mean, 1.0))));
    }
    Image picture;
    for (std::int64_t k = 0; k < o_.num_ops; ++k) {
      const RandomStream draws = context.stream.fork(static_cast<std::uint64_t>(k));
      if (double{draws.uniform(2)} >= o_.prob) continue;
      if (picture.pixels.empty()) picture = to_image(x);
      const auto chosen = draws.below(std::ssize(kOps), 0);
      const double level = o_.magnitude + o_.magnitude_std * draws.normal(2);
      data::apply(kOps[static_cast<std::size_t>(chosen)].op, std::clamp(level, 0.0, kMostLevel),
                  draws.uniform(6) < 0.5f, style, picture);
    }
    if (!picture.pixels.empty()) to_planes(picture, 255, x);
  }

 private:
  RandAugmentOptions o_;
};

}  // namespace

std::span<const AugmentOp> all_augment_ops() {
  static const auto ops = [] {
    std::array<AugmentOp, kOps.size()> list{};
    std::transform(kOps.begin(), kOps.end(), list.begin(), [](const NamedOp& o) { return o.op; });
    return list;
  }();
  return ops;
}

std::string_view name_of(AugmentOp op) {
  return std::find_if(kOps.begin(), kOps.end(), [&](const NamedOp& o) { return o.op == op; })->name;
}

void apply(AugmentOp op, double level, bool other_way, const AugmentStyle& style, Image& picture) {
  const double share = level / kMostLevel;
  const double sign = other_way ? -1 : 1;
  const auto whole = [&](double most) { return static_cast<int>(share * most); };
  const double factor = enhancement(share, other_way, style.increasing);
  const auto move = [&](const std::array<double, 6>& matrix) {
    affine(picture, matrix, style.interpolation, style.fill);
  };
  switch (op) {
    case AugmentOp::kAutoContrast:
      return autocontrast(picture);
    case AugmentOp::kEqualize:
      return equalize(picture);
    case AugmentOp::kInvert:
      return invert(picture);
    case AugmentOp::kRotate:
      return rotate(picture, sign * share * 30, style.interpolation, style.fill);
    case AugmentOp::kPosterize:
      return posterize(picture, style.increasing ? 4 - whole(4) : whole(4));
    case AugmentOp::kSolarize:
      return solarize(picture, style.increasing ? 256 - whole(256) : whole(256));
    case AugmentOp::kSolarizeAdd:
      return solarize_add(picture, whole(110));
    case AugmentOp::kColour:
      return enhance_colour(picture, factor);
    case AugmentOp::kContrast:
      return enhance_contrast(picture, factor);
    case AugmentOp::kBrightness:
      return enhance_brightness(picture, factor);
    case AugmentOp::kSharpness:
      return enhance_sharpness(picture, factor);
    case AugmentOp::kShearX:
      return move({1, sign * share * 0.3, 0, 0, 1, 0});
    case AugmentOp::kShearY:
      return move({1, 0, 0, sign * share * 0.3, 1, 0});
    case AugmentOp::kTranslateX:
      return move({1, 0, sign * share * 0.45 * static_cast<double>(picture.width), 0, 1, 0});
    case AugmentOp::kTranslateY:
      return move({1, 0, 0, 0, 1, sign * share * 0.45 * static_cast<double>(picture.height)});
  }
}

FOVEA_TRANSFORM(rand_augment, RandAugment, kPictures,
                "RandAugment as in timm, on pictures rounded to 8 bits; the defaults are its "
                "rand-m9-mstd0.5-inc1",
                schema::Fields<RandAugmentOptions>{}
                    .add("magnitude", &RandAugmentOptions::magnitude, schema::in_range(0, 10),
                         "strength of the operations, timm's m")
                    .add("magnitude_std", &RandAugmentOptions::magnitude_std, schema::at_least(0),
                         "standard deviation of the strength around magnitude, normal and clipped "
                         "to [0, 10]; timm's mstd")
                    .add("num_ops", &RandAugmentOptions::num_ops, schema::in_range(0, 100),
                         "operations that are drawn for a picture, timm's n")
                    .add("prob", &RandAugmentOptions::prob, schema::in_range(0, 1),
                         "probability that a drawn operation is done, timm's p")
                    .add("increasing", &RandAugmentOptions::increasing,
                         "operations whose changes grow with the magnitude, timm's inc1")
                    .add_enum("interpolation", &RandAugmentOptions::interpolation,
                              interpolation_names(),
                              "of rotations, shears and translations; pixels from outside have the "
                              "mean of the data set"))

}  // namespace fovea::data
