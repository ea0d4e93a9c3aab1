// SpecAugment without time warping: bands of frequencies and stretches of time are masked. Park et
// al., "SpecAugment", Interspeech 2019; the share of time that a mask may take is that of Park et
// al., "SpecAugment on large scale datasets", ICASSP 2020, as the Conformer has it (mala 7.5).
#include <algorithm>

#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct SpecAugmentOptions {
  std::int64_t freq_masks = 2, freq_width = 27;
  std::int64_t time_masks = 10;
  double time_ratio = 0.05;
};

class SpecAugment final : public FeatureTransform {
 public:
  explicit SpecAugment(const SpecAugmentOptions& options) : o_(options) {}

  void apply(const Features& x, const RandomStream& draws) const override {
    const float fill = mean_of(x.values);
    const RandomStream bands = draws.fork("bands"), stretches = draws.fork("stretches");
    for (std::int64_t k = 0; k < o_.freq_masks; ++k) {
      const auto [first, width] = part(std::min(o_.freq_width, x.channels), x.channels, bands, k);
      for (std::int64_t t = 0; t < x.frames; ++t)
        std::fill_n(x.values.begin() + t * x.channels + first, width, fill);
    }
    const auto longest = static_cast<std::int64_t>(o_.time_ratio * static_cast<double>(x.frames));
    for (std::int64_t k = 0; k < o_.time_masks; ++k) {
      const auto [first, length] = part(longest, x.frames, stretches, k);
      std::fill_n(x.values.begin() + first * x.channels, length * x.channels, fill);
    }
  }

 private:
  struct Stretch {
    std::int64_t first, length;
  };
  // 0 to `most` of `all`, anywhere.
  static Stretch part(std::int64_t most, std::int64_t all, const RandomStream& draws,
                      std::int64_t k) {
    const RandomStream own = draws.fork(static_cast<std::uint64_t>(k));
    const std::int64_t length = own.below(most + 1, 0);
    return {own.below(all - length + 1, 1), length};
  }
  static float mean_of(std::span<const float> values) {
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value);
    return values.empty() ? 0.0f : static_cast<float>(sum / static_cast<double>(values.size()));
  }

  SpecAugmentOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(spec_augment, SpecAugment, kFeatures,
                "mask bands of frequencies and stretches of time with the mean (SpecAugment)",
                schema::Fields<SpecAugmentOptions>{}
                    .add("freq_masks", &SpecAugmentOptions::freq_masks, schema::at_least(0),
                         "bands of channels that are masked")
                    .add("freq_width", &SpecAugmentOptions::freq_width, schema::at_least(0),
                         "most channels of a band")
                    .add("time_masks", &SpecAugmentOptions::time_masks, schema::at_least(0),
                         "stretches of frames that are masked")
                    .add("time_ratio", &SpecAugmentOptions::time_ratio, schema::in_range(0, 1),
                         "most of a stretch, as a share of the recording"))

}  // namespace fovea::data
