#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

class VolumeBrightness final : public ChannelTransform {
 public:
  explicit VolumeBrightness(const NoOptions&) : ChannelTransform(0.15) {}

 private:
  void change(std::span<float> values, const VolumeSides& /*size*/,
              const RandomStream& draws) const override {
    const auto factor = static_cast<float>(draw_between(draws, 1, 0.75, 1.25));
    for (float& value : values) value *= factor;
  }
};

}  // namespace

FOVEA_TRANSFORM(brightness, VolumeBrightness, kVolumes,
                "multiply each channel by 0.75 to 1.25, with probability 0.15",
                schema::Fields<NoOptions>{})

}  // namespace fovea::data
