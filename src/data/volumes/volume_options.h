// The keys that every data set of whole volumes has.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/augment/volumes/volume_crop.h"
#include "data/parts/split.h"
#include "schema/fields.h"

namespace fovea::data {

/// The help of "canonical".
inline constexpr const char* kCanonicalHelp =
    "volumes are turned to the closest RAS+ axes by their affine (as nibabel.as_closest_canonical) "
    "before all else; predictions are written on the file's own grid all the same. nnU-Net's usual "
    "reader (SimpleITKIO) leaves axes as they are: false";

struct VolumeSetOptions : SplitOptions {
  static constexpr Kind kKind = Kind::kLabelMaps;
  using Common = VolumeSetOptions;
  static const schema::Fields<VolumeSetOptions>& keys();

  std::array<std::int64_t, 3> img_size = {16, 32, 32};
  std::vector<double> spacing;             // empty: nnU-Net's rule
  bool canonical = false;                  // a key of data sets that read files
  std::int64_t foreground_voxels = 10000;  // a key of data sets that may be CT
  bool augment = true;
  double foreground = 0.33;
  Outside outside = Outside::kZeros;
  std::int64_t samples_per_epoch = 0;
  OnBadSample on_bad_sample = OnBadSample::kFail;
  std::string cache_folder;
  std::int64_t cache_bytes = std::int64_t{1} << 31;
};

}  // namespace fovea::data
