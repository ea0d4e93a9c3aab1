// The filters of HDF5 chunks, undone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/files/hdf5/file.h"

namespace fovea::data::hdf5 {

/// A chunk before filtering, `bytes` long. Bit i of `mask`: filter i was skipped. Deflate (gzip),
/// shuffle, fletcher32 and lzf are undone. Throws FileError for any other, with its name, and for a
/// chunk that is damaged; `path` is the data set's.
std::vector<std::byte> unfiltered(const Bytes& file, const std::string& path,
                                  std::vector<std::byte> chunk, const std::vector<Filter>& filters,
                                  std::uint32_t mask, std::size_t bytes);

/// Throws FileError if one of the filters is not known.
void check_filters(const Bytes& file, const std::string& path, const std::vector<Filter>& filters);

}  // namespace fovea::data::hdf5
