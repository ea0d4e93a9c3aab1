// Image noise for training and for measuring robustness (dgsa section 8): ten types, each with a
// level s in (0, 1). Every type is a pure function of the image, the level and random fields, so it
// can be compared with golden values; corrupt() draws the fields from a stream.
//
// Images are (channels, height, width) float32 in [0, 1], before mean and deviation are removed;
// results are in [0, 1] again. Images are changed in place.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "data/augment/noise.h"
#include "tensor/random.h"

namespace fovea::data {

/// A view of one image, (channels, height, width) row-major.
struct Planes {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  float* data = nullptr;

  std::int64_t plane() const { return height * width; }
  std::int64_t size() const { return channels * plane(); }
  float* channel(std::int64_t c) const { return data + c * plane(); }
  std::span<float> values() const { return {data, static_cast<std::size_t>(size())}; }
};

enum class Corruption {
  kGaussian,
  kSpeckle,
  kShot,
  kSaltPepper,
  kImpulse,
  kGaussianBlur,
  kMotionBlur,
  kOcclusion,
  kContrast,
  kBrightness,
};

/// All types in the order of the specification.
std::span<const Corruption> all_corruptions();
/// "gaussian", "speckle", "shot", "salt_pepper", "impulse", "gaussian_blur", "motion_blur",
/// "occlusion", "contrast", "brightness".
std::string_view name_of(Corruption type);
/// Inverse of name_of. Throws ConfigError with the nearest name.
Corruption corruption_from_name(std::string_view name);

// Random fields: z standard normal and u uniform in [0, 1), one value an element, as large as the
// image; u_pixel uniform, (height, width).
/// clip(x + s z)
void gaussian(Planes x, double s, std::span<const float> z);
/// clip(x + s x z)
void speckle(Planes x, double s, std::span<const float> z);
/// clip(Poisson(c x) / c), c = 1 / s^2, the count by inversion of one uniform.
void shot(Planes x, double s, std::span<const float> u);
/// u < s / 2 -> 0, s / 2 <= u < s -> 1, in all channels of a pixel.
void salt_pepper(Planes x, double s, std::span<const float> u_pixel);
/// The same for every element on its own.
void impulse(Planes x, double s, std::span<const float> u);
/// Separable Gaussian of deviation 4 s pixels and radius floor(4 deviation + 0.5); replicated
/// edges.
void gaussian_blur(Planes x, double s);
/// Mean of 2 floor(10 s + 0.5) + 1 samples along a line through the pixel, replicated edges; the
/// direction min(floor(4 u), 3) is horizontal, rising, vertical or falling.
void motion_blur(Planes x, double s, double u);
/// A square of side floor(sqrt(s h w) + 0.5), cut to the image, at a place given by u_top, u_left.
void occlusion(Planes x, double s, double u_top, double u_left, double fill = 0.0);
/// clip(m + (1 - s)(x - m)), m the mean of each channel.
void contrast(Planes x, double s);
/// clip(x + s)
void brightness(Planes x, double s);

/// One corruption with a level.
struct CorruptionLevel {
  Corruption type = Corruption::kGaussian;
  double level = 0.1;
};

/// Applies one type; every random field is a function of `stream`, the type and the level.
/// Throws ConfigError unless 0 < level < 1.
void corrupt(Planes x, CorruptionLevel what, const RandomStream& stream, double fill = 0.0);
/// The same with a type by its name. Throws ConfigError also for an unknown one.
void corrupt(Planes x, const NoiseLevel& what, const RandomStream& stream, double fill = 0.0);

/// Names, preset (dgsa section 8) and help of these types, for options and reports.
const NoiseKind& image_noise();

}  // namespace fovea::data
