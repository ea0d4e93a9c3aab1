// RandAugment (Cubuk et al., NeurIPS 2020) as timm has it (auto_augment.py): its fifteen
// operations, the strength of each by a level, and the choice among them. Pictures are rounded to 8
// bits. mala 7.1.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/augment/geometry.h"

namespace fovea::data {

enum class AugmentOp {
  kAutoContrast,
  kEqualize,
  kInvert,
  kRotate,
  kPosterize,
  kSolarize,
  kSolarizeAdd,
  kColour,
  kContrast,
  kBrightness,
  kSharpness,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
};
/// In timm's order.
std::span<const AugmentOp> all_augment_ops();
/// timm's name: "AutoContrast", "TranslateXRel", whatever the style.
std::string_view name_of(AugmentOp op);

/// What all operations share.
struct AugmentStyle {
  /// All changes grow with the level; else posterize, solarize and the enhancements are as in
  /// AutoAugment.
  bool increasing = true;
  Resampling interpolation = Resampling::kBicubic;
  std::vector<std::uint8_t> fill;  // pixels from outside, one value for each channel
};

/// level in [0, 10]. other_way: the opposite direction of operations that have two (rotations,
/// shears, translations, increasing enhancements).
void apply(AugmentOp op, double level, bool other_way, const AugmentStyle& style, Image& picture);

}  // namespace fovea::data
