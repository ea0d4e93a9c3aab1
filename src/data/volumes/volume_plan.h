// What nnU-Net calls fingerprint and plan: how the volumes of a data set are brought to voxels of
// one size and intensities of one scale, learned from the training volumes. dformer 7.3.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/volumes/orientation.h"
#include "data/volumes/volume_part.h"
#include "data/volumes/volume_prepare.h"
#include "schema/json/value.h"

namespace fovea::data {

inline constexpr const char* kPlanFile = "plan.json";

struct VolumePlan {
  bool canonical = false;                     // volumes are turned to RAS+ first
  std::array<double, 3> spacing = {1, 1, 1};  // of all volumes, in millimetres
  bool ct = false;
  bool nonzero = false;               // MR: scale and offset from the voxels that are not 0
  std::vector<Intensities> channels;  // of CT

  schema::Value json() const;
  std::string text() const;
  /// Throws FileError starting with `name`.
  static VolumePlan parse(const std::string& text, const std::string& name);
};

/// Where a prepared volume lies in its file. (d, h, w) each.
struct VolumePlace {
  VolumeSides file = {};                               // voxels of the file
  std::array<double, 3> spacing = {1, 1, 1};           // of the file
  std::array<double, 3> prepared_spacing = {1, 1, 1};  // of the prepared volume
  Turn turn;                                           // what was done to its axes
  VolumeSides first = {}, box = {};  // the part of the turned volume that was taken
};

struct PreparedVolume {
  std::int64_t channels = 1;
  VolumeSides size = {};
  VolumePlace place;
  std::vector<float> values;         // (channels, size)
  std::vector<std::uint8_t> labels;  // or kIgnoredVoxel; empty where the file has none
  /// The voxels of each class but the first, or of each region.
  std::vector<std::vector<std::int32_t>> voxels;
  std::int64_t labelled = 0;  // voxels that are of a class

  std::int64_t bytes() const;
};

/// Sets `voxels` and `labelled` from `labels`; without regions `voxels` are those of the classes.
void note_voxels(PreparedVolume& volume, std::size_t num_classes,
                 const std::vector<Region>& regions = {});

/// The axis along which slices are resampled separately when a volume changes its spacing: the axis
/// of the largest spacing, where that is more than 3 times the smallest, in `from` or else in `to`.
/// None where two axes share the largest. As in nnU-Net v2.
std::optional<std::size_t> separate_axis(const std::array<double, 3>& from,
                                         const std::array<double, 3>& to);

/// The bounding box of the voxels that are not 0 in some channel; everything where all are 0.
void nonzero_box(const LabelledVoxels& volume, VolumeSides& first, VolumeSides& box);
/// 1 where a voxel is not 0 in some channel, or lies in a hole of these voxels.
std::vector<std::uint8_t> filled_mask(std::span<const float> values, std::int64_t channels,
                                      const VolumeSides& size);

/// The median spacing of each axis; where the slices (the coarsest axis) are more than 3 times as
/// far apart as other voxels and fewer than a third, the 10th percentile of theirs, but no less
/// than the others'.
std::array<double, 3> target_spacing(const std::vector<std::array<double, 3>>& spacings,
                                     const std::vector<VolumeSides>& sizes);

struct PlanRules {
  std::vector<double> spacing = {};  // if given, instead of target_spacing()
  bool canonical = false;
  /// For CT: the number of foreground voxels that are read for each case and channel. Where there
  /// are more, they are split into as many stretches of equal length, and one voxel of each is
  /// drawn. 0: all.
  std::int64_t foreground_voxels = 10000;
};
/// Reads all training volumes: `read` returns volume 0..count-1, without voxels if it is left out
/// (not all may be). Throws as prepare_volume() does.
VolumePlan make_plan(const std::function<LabelledVoxels(std::int64_t)>& read, std::int64_t count,
                     const VolumeInfo& info, const PlanRules& rules);

/// Turned if the plan says so, cropped to the voxels that are not 0, at the plan's spacing (dformer
/// 7.3; linear where nnU-Net is cubic), at the plan's scale of intensities. Throws FileError for a
/// volume that should be turned but has no orientation.
PreparedVolume prepare_volume(LabelledVoxels volume, const VolumePlan& plan,
                              std::size_t num_classes, const std::vector<Region>& regions = {});

/// The index of the largest of the maps (maps, d, h, w) of a prepared volume for each voxel of its
/// file, linear between voxels. The first of equal maps wins; the first map outside of the cropped
/// part.
std::vector<std::uint8_t> labels_on_file(std::span<const float> maps, std::int64_t count,
                                         const VolumeSides& size, const VolumePlace& place);
/// One map alone, with a value for what lies outside.
std::vector<float> map_on_file(std::span<const float> map, const VolumeSides& size,
                               const VolumePlace& place, float outside);

}  // namespace fovea::data
