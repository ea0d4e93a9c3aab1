#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

class VolumeNoise final : public VolumeTransform {
 public:
  explicit VolumeNoise(const NoOptions&) {}
  void apply(VolumeCrop& crop, const RandomStream& draws) const override {
    if (!happens(draws, 0.1)) return;
    const double sigma = draw_between(draws, 1, 0, 0.1);
    const RandomStream grain = draws.fork("grain");
    for (std::size_t i = 0; i < crop.values.size(); ++i)
      crop.values[i] += static_cast<float>(sigma * grain.normal(i));
  }
};

}  // namespace

FOVEA_TRANSFORM(noise, VolumeNoise, kVolumes,
                "add normal noise of a deviation up to 0.1, with probability 0.1",
                schema::Fields<NoOptions>{})

}  // namespace fovea::data
