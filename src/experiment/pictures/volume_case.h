// A case of a run on volumes as pictures need it: what the network sees and predicts, and where
// that lies in the file and in the body.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "data/volumes/orientation.h"
#include "data/volumes/volume_dataset.h"
#include "experiment/run/runner.h"
#include "visualise/figures/shared/shown_run.h"
#include "visualise/pages/case_volume.h"

namespace fovea::experiment {

/// Where the axes of a prepared volume of `size` voxels lie in its file.
std::array<visualise::FileAxis, 3> file_axes(const data::VolumePlace& place,
                                             const visualise::Sides3& size);

/// How the axes (depth, height, width) of a volume in the file lie in the body, after `turn`:
/// letters as visualise::CaseVolume has them, and their tilt in degrees.
struct BodyAxes {
  std::string codes;
  double tilt = 0;
};
/// Without an affine, or with one that says nothing: no letters.
BodyAxes body_axes(const std::optional<data::Affine>& affine, const data::VolumePlace& place);

/// A sample of a split, or files of one's own prepared as predict does, as the network sees it: its
/// truth, where it has one, and prediction, without maps. Intensities of CT are brought back to
/// Hounsfield units. Dice is of the voxels of the file, as eval counts. Throws FileError.
visualise::SeenVolume seen_volume(Run& run, data::Split split, const data::VolumeDataset& volumes,
                                  const visualise::VolumeInput& input);

/// The same on the grid of the file, whose values it has: what runs with different plans share.
/// CT is seen through the window of soft tissue. Throws FileError.
visualise::CaseVolume volume_on_file(Run& run, data::Split split,
                                     const data::VolumeDataset& volumes,
                                     const visualise::VolumeInput& input);

}  // namespace fovea::experiment
