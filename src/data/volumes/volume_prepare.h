// Preparing volumes for training as nnU-Net does: voxels of one size, intensities of one scale.
// dformer 7.3. Values are (d, h, w) row-major.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fovea::data {

/// Depth, height, width.
using VolumeSides = std::array<std::int64_t, 3>;

/// How many voxels a volume has at another spacing: size x spacing / target, halves to even.
VolumeSides resampled_size(const VolumeSides& size, const std::array<double, 3>& spacing,
                           const std::array<double, 3>& target);

/// To another size over the same space: place i reads (i + 0.5) in / out - 0.5, clamped at the
/// ends, between its neighbours along every axis. Along `nearest_axis`, if given, the one slice
/// floor((i + 0.5) in / out) alone, for volumes whose slices are far apart.
std::vector<float> resample_volume(std::span<const float> values, const VolumeSides& size,
                                   const VolumeSides& to,
                                   std::optional<std::size_t> nearest_axis = std::nullopt);
/// Labels: the voxel floor((i + 0.5) in / out) along every axis.
std::vector<std::int64_t> resample_labels(std::span<const std::int64_t> labels,
                                          const VolumeSides& size, const VolumeSides& to);

/// Statistics of the foreground voxels of all training volumes.
struct Intensities {
  double low = 0, high = 0;  // the percentiles 0.5 and 99.5, linear between values
  double mean = 0, std = 1;  // std with n
};
/// Throws ConfigError without any.
Intensities intensities_of(std::vector<float> foreground);

/// Computed tomography: cut to [low, high], minus mean, divided by max(std, 1e-8); in place.
void normalise_ct(std::span<float> values, const Intensities& by);
/// Magnetic resonance: minus the mean of the volume, divided by its std + 1e-8; in place. With
/// `inside` (as many as values) both are of the voxels where it is not 0, and the others become 0.
void normalise_mr(std::span<float> values, std::span<const std::uint8_t> inside = {});

}  // namespace fovea::data
