// Crops of volumes and their random changes while training, as nnU-Net makes them. dformer 7.4.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

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
};

/// Whether crops have so few slices that they are turned in their plane alone: longest side over
/// depth above 3.
bool turns_in_plane(const VolumeSides& size);

/// Where crops may lie: the size of the part that a crop is turned and scaled in, of which it is
/// the middle.
VolumeSides margin_size(const VolumeSides& size);

/// The first voxel of a crop, which may lie outside of the volume: anywhere, or with `foreground`
/// around a random voxel of a random class that the volume has. Where only some voxels are of a
/// class, "anywhere" is around one of those, as in nnU-Net.
std::array<double, 3> draw_crop(const PreparedVolume& volume, const VolumeSides& size,
                                bool foreground, const RandomStream& stream);

/// What values are outside of a volume: 0, as windows of an evaluation have them
/// (nnunet_windows.h), or those of its border.
enum class Outside { kZeros, kEdge };

/// The voxels from there on.
VolumeCrop crop_volume(const PreparedVolume& volume, const VolumeSides& size,
                       const std::array<double, 3>& first, Outside outside);

/// The same, perhaps turned (each angle within 30 degrees, in the plane alone any, p 0.2) and
/// scaled (0.7 to 1.4, p 0.2), linear between voxels, labels nearest; then noise, blur, brightness,
/// contrast, low resolution, gamma and mirrors. A function of the stream.
VolumeCrop augmented_crop(const PreparedVolume& volume, const VolumeSides& size,
                          const std::array<double, 3>& first, Outside outside,
                          const RandomStream& stream);

}  // namespace fovea::data
