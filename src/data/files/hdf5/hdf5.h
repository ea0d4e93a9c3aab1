// Volumes in HDF5 files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "data/files/nifti.h"

namespace fovea::data {

/// A data set of three axes (depth, height, width) of whole or real numbers; the spacing of its
/// voxels is not known and 1. Compact, contiguous and chunked layouts are read, packed with gzip
/// (deflate), lzf, shuffle or fletcher32, or not at all. Throws FileError that names the file, for
/// what is no HDF5 file or a damaged one, a data set that is not there, of other axes or types,
/// above kMaxVolumeBytes, packed otherwise, or kept outside the file: nothing outside it is ever
/// opened.
Volume read_hdf5_volume(const std::filesystem::path& path, const std::string& dataset);
/// Without its values.
VolumeSize read_hdf5_size(const std::filesystem::path& path, const std::string& dataset);
/// The same of the bytes of a file; `name` is used in messages.
Volume decode_hdf5_volume(std::span<const std::byte> file, const std::string& name,
                          const std::string& dataset);

}  // namespace fovea::data
