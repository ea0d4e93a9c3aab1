// What nnU-Net calls fingerprint and plan: how the volumes of a data set are brought to voxels of
// one size and intensities of one scale, learned from the training volumes. dformer 7.3.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/orientation.h"
#include "data/volume_part.h"
#include "data/volume_prepare.h"

namespace fovea::data {

inline constexpr const char* kPlanFile = "plan.json";

struct VolumePlan {
  bool canonical = false;                     // volumes are turned to RAS+ first
  std::array<double, 3> spacing = {1, 1, 1};  // of all volumes, in millimetres
  bool ct = false;
  bool nonzero = false;               // of MR: scale and offset are of the voxels that are not 0
  std::vector<Intensities> channels;  // of CT

  std::string text() const;
  /// Throws FileError starting with `name`.
  static VolumePlan parse(const std::string& text, const std::string& name);
};

/// Where a prepared volume lies in its file. (d, h, w) each.
struct VolumePlace {
  VolumeSides file = {};                      // voxels of the file
  std::array<double, 3> spacing = {1, 1, 1};  // of the file
  Turn turn;                                  // what was done to its axes
  VolumeSides first = {}, box = {};           // the part of the turned volume that was taken
};

struct PreparedVolume {
  std::int64_t channels = 1;
  VolumeSides size = {};
  VolumePlace place;
  std::vector<float> values;         // (channels, size)
  std::vector<std::uint8_t> labels;  // empty where the file has none
  /// Of the classes behind the first: where their voxels are.
  std::vector<std::vector<std::int32_t>> voxels;

  std::int64_t bytes() const;
};

/// Sets `voxels` from `labels`.
void note_voxels(PreparedVolume& volume, std::size_t num_classes);

/// The bounding box of the voxels that are not 0 in some channel; everything where all are 0.
void nonzero_box(const LabelledVoxels& volume, VolumeSides& first, VolumeSides& box);
/// 1 where a voxel is not 0 in some channel, or lies in a hole of such voxels.
std::vector<std::uint8_t> filled_mask(std::span<const float> values, std::int64_t channels,
                                      const VolumeSides& size);

/// The median spacing of each axis; where the slices (the coarsest axis) are more than 3 times as
/// far apart as other voxels and fewer than a third, the 10th percentile of theirs, but no less
/// than the others'.
std::array<double, 3> target_spacing(const std::vector<std::array<double, 3>>& spacings,
                                     const std::vector<VolumeSides>& sizes);

/// Reads all training volumes: `read` gives them, 0..count-1. spacing: if given, instead of the
/// rule. Throws as prepare_volume() does.
VolumePlan make_plan(const std::function<LabelledVoxels(std::int64_t)>& read, std::int64_t count,
                     const VolumeInfo& info, const std::vector<double>& spacing,
                     bool canonical = false);

/// Turned if the plan says so, cut to what is not 0, at the plan's spacing (dformer 7.3; linear
/// where nnU-Net is cubic), at the plan's scale of intensities. Throws FileError for a volume that
/// is to be turned and does not say how it lies.
PreparedVolume prepare_volume(LabelledVoxels volume, const VolumePlan& plan,
                              std::size_t num_classes);

/// Maps (maps, d, h, w) of a prepared volume on the grid of its file, linear between voxels, and of
/// each voxel the map that is largest, of equal ones the first; the first outside of the part that
/// was taken.
std::vector<std::uint8_t> labels_on_file(std::span<const float> maps, std::int64_t count,
                                         const VolumeSides& size, const VolumePlace& place);
/// One map alone, with a value for what lies outside.
std::vector<float> map_on_file(std::span<const float> map, const VolumeSides& size,
                               const VolumePlace& place, float outside);

}  // namespace fovea::data
