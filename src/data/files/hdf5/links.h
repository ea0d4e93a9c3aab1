// Finds an object in an HDF5 file by its path.
#pragma once

#include <cstdint>
#include <string>

#include "data/files/hdf5/file.h"

namespace fovea::data::hdf5 {

/// The address of the object at a path such as "image" or "group/image", from the group at `root`
/// on. Links inside the file are followed; one into another file is refused. Throws FileError.
std::uint64_t find_object(const File& file, std::uint64_t root, const std::string& path);

}  // namespace fovea::data::hdf5
