#include "data/augment/volumes/volume_augment.h"

#include <optional>

#include "data/augment/transforms.h"

namespace fovea::data {

const std::vector<schema::Component>& nnunet_transforms() {
  static const std::vector<schema::Component> all = {
      {"turn", {}},          {"noise", {}},    {"blur", {}},
      {"brightness", {}},    {"contrast", {}}, {"low_resolution", {}},
      {"negated_gamma", {}}, {"gamma", {}},    {"mirror", {}}};
  return all;
}

VolumeAugmentation::VolumeAugmentation(const std::vector<schema::Component>& transforms) {
  for (const schema::Component& one : transforms)
    transforms_.push_back({one.type, make_volume_transform(one, "dataset.augment")});
}

VolumeCrop VolumeAugmentation::crop(const PreparedVolume& volume, const VolumeSides& size,
                                    const std::array<double, 3>& first, Outside outside,
                                    const RandomStream& stream) const {
  std::optional<CropMatrix> turn;
  for (const auto& [name, transform] : transforms_) {
    const auto own = transform->turn(size, stream.fork(name));
    if (own) turn = turn ? product(*turn, *own) : *own;
  }
  VolumeCrop crop = turn ? crop_volume(volume, size, first, outside, *turn)
                         : crop_volume(volume, size, first, outside);
  for (const auto& [name, transform] : transforms_) transform->apply(crop, stream.fork(name));
  return crop;
}

}  // namespace fovea::data
