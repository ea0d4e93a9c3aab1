// Random changes of crops of volumes while training. dformer 7.4.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "data/augment/transform.h"
#include "data/augment/volumes/volume_crop.h"
#include "schema/describe/description.h"

namespace fovea::data {

/// nnU-Net's, in its order.
const std::vector<schema::Component>& nnunet_transforms();

/// Transforms of volumes, made one after another.
class VolumeAugmentation {
 public:
  /// Throws ConfigError for a transform that does not apply to volumes.
  explicit VolumeAugmentation(
      const std::vector<schema::Component>& transforms = nnunet_transforms());

  /// As crop_volume(), changed. A function of the stream, of which each transform has the part of
  /// its own name.
  VolumeCrop crop(const PreparedVolume& volume, const VolumeSides& size,
                  const std::array<double, 3>& first, Outside outside,
                  const RandomStream& stream) const;

 private:
  struct Named {
    std::string name;
    std::unique_ptr<const VolumeTransform> transform;
  };
  std::vector<Named> transforms_;
};

}  // namespace fovea::data
