// Volumes in HDF5 files.
#pragma once

#include <filesystem>
#include <string>

#include "data/nifti.h"

namespace fovea::data {

/// A data set of three axes (depth, height, width) of whole or real numbers; the spacing of its
/// voxels is not known and 1. Throws FileError that names the file, for what is no HDF5 file or a
/// damaged one, a data set that is not there, or of other axes or types, or above kMaxVolumeBytes.
Volume read_hdf5_volume(const std::filesystem::path& path, const std::string& dataset);
/// Without its values.
VolumeSize read_hdf5_size(const std::filesystem::path& path, const std::string& dataset);

}  // namespace fovea::data
