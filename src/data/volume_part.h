// Volumes with a class for every voxel, read whole: the samples of one part of a data set as its
// files provide them. Axes are always depth, height, width, as the file has them (nifti.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/nifti.h"
#include "data/part.h"

namespace fovea::data {

/// What is the same for every volume of a data set.
struct VolumeInfo {
  std::vector<std::string> class_names;  // the background first
  std::vector<int> label_values;         // what files have for each class
  std::int64_t channels = 1;
  bool ct = false;  // values are comparable between volumes (Hounsfield units)
};

/// A volume as its files have it. (Of several files the first says where it lies.)
struct LabelledVoxels : VolumeSize {
  std::filesystem::path file;        // the first, for messages; empty for none
  std::vector<float> values;         // (channels, d, h, w)
  std::vector<std::uint8_t> labels;  // numbers of classes; empty where there are none
};

/// In which files a volume lies.
struct VolumeCase {
  std::vector<std::filesystem::path> images;  // NIfTI, one a channel
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
  /// The labels alone.
  virtual LabelledVoxels read_labels(std::int64_t index) const { return read(index); }
  /// The files of one volume; empty for what is made in memory.
  virtual VolumeCase files_of(std::int64_t /*index*/) const { return {}; }

 protected:
  explicit VolumePart(VolumeInfo info) : info_(std::move(info)) {}
  VolumeInfo info_;
};

/// Reads one. Throws FileError for images and labels of different sizes, for channels that are too
/// few or too many, and for labels that are not those of `info`.
LabelledVoxels read_volume(const VolumeCase& files, const VolumeInfo& info);

/// Volumes in NIfTI files.
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
