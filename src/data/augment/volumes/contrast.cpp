#include <algorithm>

#include "data/augment/transform_entry.h"
#include "data/augment/volumes/value_range.h"

namespace fovea::data {
namespace {

class VolumeContrast final : public ChannelTransform {
 public:
  explicit VolumeContrast(const NoOptions&) : ChannelTransform(0.15) {}

 private:
  void change(std::span<float> values, const VolumeSides& /*size*/,
              const RandomStream& draws) const override {
    const double factor = draw_around_one(draws, 1, 0.75, 1.25);
    const ValueRange range = value_range(values);
    for (float& value : values)
      value = std::clamp(static_cast<float>((double{value} - range.mean) * factor + range.mean),
                         range.low, range.high);
  }
};

}  // namespace

FOVEA_TRANSFORM(contrast, VolumeContrast, kVolumes,
                "multiply the distance of each channel's values from their mean by 0.75 to 1.25, "
                "within their range, with probability 0.15",
                schema::Fields<NoOptions>{})

}  // namespace fovea::data
