#include <utility>

#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

void mirror_crop(VolumeCrop& crop, std::size_t axis) {
  const std::int64_t side = crop.size[axis];
  const std::int64_t step = axis == 0 ? crop.size[1] * crop.size[2] : axis == 1 ? crop.size[2] : 1;
  const auto swap_all = [&](auto* values) {
    for (std::int64_t at = 0; at < crop.voxels(); ++at) {
      const std::int64_t place = at / step % side;
      if (2 * place < side - 1) std::swap(values[at], values[at + (side - 1 - 2 * place) * step]);
    }
  };
  for (std::int64_t c = 0; c < crop.channels; ++c) swap_all(crop.channel(c).data());
  swap_all(crop.labels.data());
}

class Mirror final : public VolumeTransform {
 public:
  explicit Mirror(const NoOptions&) {}
  void apply(VolumeCrop& crop, const RandomStream& draws) const override {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (double{draws.uniform(axis)} < 0.5) mirror_crop(crop, axis);
    }
  }
};

}  // namespace

FOVEA_TRANSFORM(mirror, Mirror, kVolumes, "mirror along each axis, with probability 0.5",
                schema::Fields<NoOptions>{})

}  // namespace fovea::data
