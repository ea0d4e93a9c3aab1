// nnU-Net's fingerprint of a data set of volumes, and the plan made from it, for surveys
// (survey.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/volumes/volume_dataset.h"
#include "schema/json/value.h"

namespace fovea::data {

/// The fingerprint of one part.
struct VolumeFingerprint {
  std::map<std::string, std::int64_t> orientations;          // by axes (volume_headers.h)
  std::array<double, 3> least = {}, median = {}, most = {};  // spacings, (d, h, w) in millimetres
  VolumeSides shape = {};                                    // median of the files
  VolumeSides prepared = {};  // median once cut and resampled; 0: nothing was read
};
/// By the headers; `prepared` are the sizes of the volumes as networks see them.
VolumeFingerprint fingerprint_of(const VolumeDataset& part, std::vector<VolumeSides> prepared);

schema::Value to_json(const VolumeFingerprint& fingerprint);
/// Lines "axes ...", "spacing ...", ..., each a name and a text.
std::vector<std::pair<std::string, std::string>> lines_of(const VolumeFingerprint& fingerprint);

/// "spacing 1 x 0.8 x 0.8 mm; MR: every volume by its own mean and deviation".
std::string plan_text(const VolumePlan& plan);

}  // namespace fovea::data
