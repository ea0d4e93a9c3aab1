// Volumes with a class for every voxel, read whole: the samples of one part of a data set as its
// files provide them. Axes are always depth, height, width, as the file has them (nifti.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/files/nifti.h"
#include "data/part.h"

namespace fovea::data {

/// One or several classes for which a network has one map, as in nnU-Net. Regions may overlap.
struct Region {
  std::string name;
  std::string key;                    // in nnU-Net's summary.json: "(1, 2, 3)", or "3"
  std::vector<std::uint8_t> classes;  // places in VolumeInfo::class_names, ascending
  std::uint8_t written = 0;           // the class that predicted voxels of it get

  bool operator==(const Region&) const = default;
};

/// What all volumes of a data set have in common.
struct VolumeInfo {
  std::vector<std::string> class_names;  // the background first
  std::vector<int> label_values;         // the value in files for each class
  std::optional<int> ignore_value = {};  // the value in files of unlabelled voxels
  std::int64_t channels = 1;
  bool ct = false;  // values are comparable between volumes (Hounsfield units)
  std::optional<std::int64_t> declared_cases = {};  // of train, as the data set says
  /// Regions that networks learn instead of the classes, in the order in which predictions are
  /// written, later ones over earlier ones; empty: the classes themselves.
  std::vector<Region> regions = {};
};

/// The label of an ignored voxel, for which samples have kIgnoreLabel.
inline constexpr std::uint8_t kIgnoredVoxel = 255;
inline bool is_foreground(std::uint8_t label) { return label > 0 && label != kIgnoredVoxel; }
/// Converts the labels of voxels to those of samples.
std::vector<std::int64_t> sample_labels(std::span<const std::uint8_t> labels);

/// A volume as in its files. (The first of several files gives the orientation.)
struct LabelledVoxels : VolumeSize {
  std::filesystem::path file;        // the first, for messages; empty for none
  std::vector<float> values;         // (channels, d, h, w)
  std::vector<std::uint8_t> labels;  // of classes, or kIgnoredVoxel; empty where there are none
};

/// The files of a volume.
struct VolumeCase {
  std::vector<std::filesystem::path> images;  // NIfTI, one a channel, or one with all channels
  std::filesystem::path labels;               // empty: none
  std::string name;                           // of the sample: one of its files
};

/// Thread-safe after construction.
class VolumePart : public Part {
 public:
  const VolumeInfo& info() const { return info_; }
  const std::vector<std::string>& class_names() const override { return info_.class_names; }
  bool has_classes() const override { return false; }
  /// Throws FileError that names the file.
  virtual LabelledVoxels read(std::int64_t index) const = 0;
  /// Reads the labels only.
  virtual LabelledVoxels read_labels(std::int64_t index) const { return read(index); }
  /// The files of one volume; empty for generated volumes.
  virtual VolumeCase files_of(std::int64_t /*index*/) const { return {}; }
  /// The header of each volume (volume_headers.h); empty for generated volumes.
  const std::vector<VolumeSize>& headers() const { return headers_; }

 protected:
  explicit VolumePart(VolumeInfo info) : info_(std::move(info)) {}
  VolumeInfo info_;
  std::vector<VolumeSize> headers_;
};

/// Throws FileError for a file that is not as large as the first of its volume, or has channels.
void check_size(const VolumeSize& first, const VolumeSize& size, const std::filesystem::path& file);
/// Throws FileError for a volume of too few or too many channels. first: the header of its first
/// file.
void check_channels(const VolumeCase& files, const VolumeSize& first, const VolumeInfo& info);

/// Reads one: a file for each channel, or one with the channels along its fourth axis. Throws
/// FileError for images and labels of different sizes, for channels that are too few or too many,
/// and for labels that are not those of `info`.
LabelledVoxels read_volume(const VolumeCase& files, const VolumeInfo& info);

/// Volumes in NIfTI files, whose headers are read at once.
class NiftiVolumes final : public VolumePart {
 public:
  NiftiVolumes(std::vector<VolumeCase> cases, VolumeInfo info, std::vector<std::string> notes = {});
  LabelledVoxels read(std::int64_t index) const override;
  LabelledVoxels read_labels(std::int64_t index) const override;
  VolumeCase files_of(std::int64_t index) const override;
  std::string name(std::int64_t index) const override;
  std::vector<std::filesystem::path> files() const override;

 private:
  const VolumeCase& at(std::int64_t index) const { return cases_[static_cast<std::size_t>(index)]; }
  std::vector<VolumeCase> cases_;
};

}  // namespace fovea::data
