// Reads the values of an HDF5 data set in any layout.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "data/files/hdf5/file.h"

namespace fovea::data::hdf5 {

/// Number of bytes of all values, at most `most`. Throws FileError where there are more, none, or
/// more than a file of this length can hold.
std::size_t value_bytes(const File& file, const Dataset& dataset, const std::string& path,
                        std::size_t most);

/// The values as they are stored, row-major, value_bytes() of them. Throws FileError.
void read_values(const File& file, const Dataset& dataset, const std::string& path,
                 std::span<std::byte> out);

}  // namespace fovea::data::hdf5
