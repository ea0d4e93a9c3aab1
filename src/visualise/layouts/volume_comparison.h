// Segmentations of volumes by several networks side by side, slice by slice. dformer 8, figure 4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "visualise/layouts/slice_pixels.h"

namespace fovea::visualise {

/// A volume on the grid of its file, and the class that each network gives its voxels.
struct ComparedVolume {
  CaseVolume volume;
  std::vector<std::vector<std::uint8_t>> predicted;
  std::optional<Sides3> through = {};  // the one slice of this voxel is drawn
};

struct VolumeComparison {
  std::string title;
  std::vector<std::string> networks;
  std::vector<ComparedVolume> volumes;
  Plane plane = Plane::kAxial;
  SliceLook look;          // its `slices` are of each volume
  std::int64_t boxes = 1;  // of each slice
};

/// A row for each slice; columns: image, truth, where some volume has one, and each network,
/// classes in their colours. Boxes, at the same place in all columns, are around the largest
/// regions that truth and networks do not label alike (disagreement.h). Below is what colours mean.
/// Throws ShapeError for no volumes and for numbers of labels that do not fit.
Canvas volume_comparison(const VolumeComparison& comparison);

}  // namespace fovea::visualise
