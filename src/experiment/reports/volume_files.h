// Predicted volumes: the labels of slices, put together as their data set's volumes are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/images/image_dataset.h"

namespace fovea::experiment {

/// <folder>/<volume>.nii.gz: of every voxel the value that mask files have for its class. Of
/// volumes that are NIfTI files the header is theirs: the same voxels in the same place.
class VolumeFiles {
 public:
  /// `images` outlives this; label_values: what files have for each class. Throws ConfigError for
  /// images that are no slices.
  VolumeFiles(const data::ImageDataset& images, std::filesystem::path folder,
              std::vector<int> label_values);
  /// Labels (h, w) of a slice at its own size. A volume is written with the last of its slices.
  void add(std::int64_t sample, const Tensor& labels);
  /// Writes the others; slices that never came are the first class.
  void finish();

 private:
  struct Volume {
    data::SliceOf slice;  // any of it
    std::int64_t height = 0, width = 0;
    std::map<std::int64_t, std::vector<std::uint16_t>> slices;  // by place
  };
  void write(const Volume& volume) const;

  const data::ImageDataset& images_;
  std::filesystem::path folder_;
  std::vector<int> label_values_;
  std::map<std::string, Volume> volumes_;  // whose slices are awaited
};

}  // namespace fovea::experiment
