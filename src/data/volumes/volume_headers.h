// The headers of all volumes of a part, read when it is opened, so that files that do not fit
// together are reported before training begins. Refuses what nnU-Net's verify_dataset_integrity
// refuses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/part.h"
#include "data/volumes/volume_part.h"

namespace fovea::data {

struct VolumeHeaders {
  /// The header of the first file of each volume; without voxels where it cannot be read.
  std::vector<VolumeSize> sizes;
  /// Headers that cannot be read, channels that are too few or too many, files of one volume that
  /// differ in size or spacing.
  std::vector<Problem> problems;
  /// A note on the number of labels whose affine differs from their image's.
  std::vector<std::string> notes;
};
VolumeHeaders read_headers(const std::vector<VolumeCase>& cases, const VolumeInfo& info);

/// The number of volumes with each orientation, as axis_codes() of columns, rows, slices.
/// "unknown": the affine has no inverse. Volumes without a header that could be read are left out.
std::map<std::string, std::int64_t> orientations(const std::vector<VolumeSize>& headers);

/// "RAS 18, LPS 2", the most frequent first.
std::string orientations_text(const std::map<std::string, std::int64_t>& orientations);

}  // namespace fovea::data
