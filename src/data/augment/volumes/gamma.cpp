#include <cmath>

#include "data/augment/transform_entry.h"
#include "data/augment/volumes/value_range.h"

namespace fovea::data {
namespace {

// Mean and deviation stay what they were.
void change_gamma(std::span<float> values, double gamma, bool negated) {
  constexpr double kTiny = 1e-7;
  const double sign = negated ? -1 : 1;
  for (float& value : values) value *= static_cast<float>(sign);
  const ValueRange before = value_range(values);
  const double span = double{before.high} - double{before.low};
  for (float& value : values)
    value = static_cast<float>(
        std::pow((double{value} - double{before.low}) / (span + kTiny), gamma) * span +
        double{before.low});
  const ValueRange after = value_range(values);
  for (float& value : values)
    value = static_cast<float>(
        sign * ((double{value} - after.mean) / (after.std + 1e-8) * before.std + before.mean));
}

template <bool kNegated>
class VolumeGamma final : public ChannelTransform {
 public:
  explicit VolumeGamma(const NoOptions&) : ChannelTransform(kNegated ? 0.1 : 0.3) {}

 private:
  void change(std::span<float> values, const VolumeSides& /*size*/,
              const RandomStream& draws) const override {
    change_gamma(values, draw_around_one(draws, 1, 0.7, 1.5), kNegated);
  }
};

}  // namespace

FOVEA_TRANSFORM(negated_gamma, VolumeGamma<true>, kVolumes,
                "gamma of the negated values, with probability 0.1", schema::Fields<NoOptions>{})

FOVEA_TRANSFORM(gamma, VolumeGamma<false>, kVolumes,
                "raise each channel's values, scaled to [0, 1], to a power of 0.7 to 1.5, and give "
                "them their mean and deviation again, with probability 0.3",
                schema::Fields<NoOptions>{})

}  // namespace fovea::data
