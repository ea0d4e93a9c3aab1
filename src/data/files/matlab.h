// Arrays of small whole numbers in MATLAB's .mat files, by libmatio.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fovea::data {

/// The first axis varies fastest, as in MATLAB.
struct MatArray {
  std::vector<std::int64_t> size;
  std::vector<std::uint8_t> values;
};

/// A variable of a file (version 5, also compressed, or 7.3). Throws FileError for a file that
/// cannot be read, one without this variable, and for values other than whole numbers from 0 to 255
/// (as bytes or doubles).
MatArray read_mat(const std::filesystem::path& file, const std::string& variable);

}  // namespace fovea::data
