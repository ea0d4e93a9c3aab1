// Distortion of colours as SSD introduced it (Liu et al., 2016) and mmseg has it. mala 7.3.
#include <algorithm>
#include <array>
#include <cmath>

#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct DistortionOptions {
  double prob = 0.5;
  double brightness_delta = 32;
  std::array<double, 2> contrast_range = {0.5, 1.5};
  std::array<double, 2> saturation_range = {0.5, 1.5};
  double hue_delta = 18;
};

// value x scale + shift, cut to [0, 1].
void change_values(Planes x, double scale, double shift) {
  const auto factor = static_cast<float>(scale), term = static_cast<float>(shift);
  for (float& value : x.values()) value = std::clamp(value * factor + term, 0.0f, 1.0f);
}

// Hue of a colour in [0, 6), 0 of a grey: red, yellow, green, ... at 0, 1, 2, ...
float hue_of(float r, float g, float b, float most, float spread) {
  if (spread <= 0) return 0;
  if (most == r) return (g - b) / spread + (g < b ? 6.0f : 0.0f);
  return most == g ? (b - r) / spread + 2 : (r - g) / spread + 4;
}

// One channel of the colour of a hue: 1 within a sixth of the circle of the channel's own, 0 from
// two sixths on.
float share_of_hue(float hue, float own) {
  const float distance = std::abs(std::fmod(hue - own + 9.0f, 6.0f) - 3.0f);
  return std::clamp(2.0f - distance, 0.0f, 1.0f);
}

// In hue, saturation and value: the saturation times `scale`, cut to [0, 1], the hue turned by
// `turn` sixths of the circle.
void change_colours(Planes x, double scale, double turn) {
  float *red = x.channel(0), *green = x.channel(1), *blue = x.channel(2);
  const auto factor = static_cast<float>(scale);
  const auto sixths = static_cast<float>(turn);
  for (std::int64_t i = 0; i < x.plane(); ++i) {
    const float most = std::max({red[i], green[i], blue[i]});
    const float spread = most - std::min({red[i], green[i], blue[i]});
    if (most <= 0) continue;
    const float hue = hue_of(red[i], green[i], blue[i], most, spread) + sixths;
    const float depth = most * std::min(spread / most * factor, 1.0f);
    red[i] = most - depth * (1 - share_of_hue(hue, 0));
    green[i] = most - depth * (1 - share_of_hue(hue, 2));
    blue[i] = most - depth * (1 - share_of_hue(hue, 4));
  }
}

class PhotometricDistortion final : public PictureTransform {
 public:
  explicit PhotometricDistortion(const DistortionOptions& o) : o_(o) {}
  void apply(Planes x, const TransformContext& context) const override {
    const RandomStream& all = context.stream;
    if (const RandomStream draws = all.fork("brightness"); happens(draws, o_.prob))
      change_values(x, 1, draw_between(draws, 1, -o_.brightness_delta, o_.brightness_delta) / 255);
    const RandomStream contrast = all.fork("contrast");
    const bool scaled = happens(contrast, o_.prob);
    const double scale = draw_between(contrast, 1, o_.contrast_range[0], o_.contrast_range[1]);
    const bool first = double{contrast.uniform(2)} < 0.5;
    if (scaled && first) change_values(x, scale, 0);
    if (x.channels == 3) distort_colours(x, all);
    if (scaled && !first) change_values(x, scale, 0);
  }

 private:
  void distort_colours(Planes x, const RandomStream& all) const {
    double scale = 1, turn = 0;
    if (const RandomStream draws = all.fork("saturation"); happens(draws, o_.prob))
      scale = draw_between(draws, 1, o_.saturation_range[0], o_.saturation_range[1]);
    // The hues of pictures of 8 bits are 180 steps of 2 degrees.
    if (const RandomStream draws = all.fork("hue"); happens(draws, o_.prob))
      turn = draw_between(draws, 1, -o_.hue_delta, o_.hue_delta) / 30;
    if (scale != 1 || turn != 0) change_colours(x, scale, turn);
  }

  DistortionOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(
    photometric_distortion, PhotometricDistortion, kPictures | kMaskedPictures | kBoxedPictures,
    "brightness; contrast, here or at the end; saturation and hue of pictures with colour; each "
    "with its own draw, and cut to [0, 1] (mala 7.3)",
    schema::Fields<DistortionOptions>{}
        .add("prob", &DistortionOptions::prob, schema::in_range(0, 1), "probability of each change")
        .add("brightness_delta", &DistortionOptions::brightness_delta, schema::in_range(0, 255),
             "uniform between - and + this is added, in units of 1/255")
        .add("contrast_range", &DistortionOptions::contrast_range, schema::at_least(0),
             "all values times a number that is uniform between these")
        .add("saturation_range", &DistortionOptions::saturation_range, schema::at_least(0),
             "the saturation times a number that is uniform between these")
        .add("hue_delta", &DistortionOptions::hue_delta, schema::in_range(0, 90),
             "the hue is turned by a number that is uniform between - and + this, in steps of 2 "
             "degrees as OpenCV has them in pictures of 8 bits")
        .check([](const DistortionOptions& o) {
          return o.contrast_range[0] <= o.contrast_range[1] &&
                         o.saturation_range[0] <= o.saturation_range[1]
                     ? std::string()
                     : std::string(
                           "contrast_range and saturation_range must each be a smallest "
                           "and a largest number");
        }))

}  // namespace fovea::data
