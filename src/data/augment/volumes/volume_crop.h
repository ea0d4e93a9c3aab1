// Crops of volumes: where they lie, and their voxels. dformer 7.4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/augment/volumes/volume_turn.h"
#include "data/volumes/volume_plan.h"
#include "tensor/random.h"

namespace fovea::data {

/// A part of a volume on its way to a network.
struct VolumeCrop {
  std::int64_t channels = 1;
  VolumeSides size = {};
  std::vector<float> values;         // (channels, size)
  std::vector<std::uint8_t> labels;  // 0 outside of the volume

  std::int64_t voxels() const { return size[0] * size[1] * size[2]; }
  std::span<float> channel(std::int64_t c) {
    return {values.data() + c * voxels(), static_cast<std::size_t>(voxels())};
  }
};

/// The place of a voxel in the values of a channel.
inline std::int64_t voxel_index(const VolumeSides& size, std::int64_t d, std::int64_t h,
                                std::int64_t w) {
  return (d * size[1] + h) * size[2] + w;
}

/// The first voxel of a crop, which may lie outside of the volume: anywhere, or with `foreground`
/// around a random voxel of a random class that the volume has. Where only some voxels are of a
/// class, "anywhere" is around one of those, as in nnU-Net.
std::array<double, 3> draw_crop(const PreparedVolume& volume, const VolumeSides& size,
                                bool foreground, const RandomStream& stream);

/// Values outside of a volume: 0, as windows of an evaluation have them (nnunet_windows.h), or
/// those of its border.
enum class Outside { kZeros, kEdge };

/// The voxels of a crop that begins at `first`.
VolumeCrop crop_volume(const PreparedVolume& volume, const VolumeSides& size,
                       const std::array<double, 3>& first, Outside outside);
/// The same, turned and scaled about its middle: linear between voxels, labels nearest.
VolumeCrop crop_volume(const PreparedVolume& volume, const VolumeSides& size,
                       const std::array<double, 3>& first, Outside outside, const CropMatrix& turn);

}  // namespace fovea::data
