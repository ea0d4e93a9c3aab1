// Arrays of numpy: .npy files, and .npz files, which are zip archives of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::data {

/// Whole and real numbers of any size, and truth values, as float32.
struct NumpyArray {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major, whatever the order in the file
};

/// Largest array that is read, in bytes of its file.
inline constexpr std::size_t kMaxArrayBytes = std::size_t{1} << 30;

/// Throws FileError starting with `name` for what is no such file, is cut short, or holds anything
/// but numbers in this machine's byte order.
NumpyArray decode_npy(std::span<const std::byte> file, std::string_view name);

/// Arrays of an archive by their names, without the ending. Throws FileError starting with `name`
/// for what is no archive, or a damaged one, for an array that is not there, and as decode_npy.
std::map<std::string, NumpyArray> decode_npz(std::span<const std::byte> file,
                                             const std::vector<std::string>& wanted,
                                             std::string_view name);

}  // namespace fovea::data
