// What became of golden cases.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tensor/device.h"

namespace fovea::verify {

struct Outcome {
  std::string name;
  std::string status;  // "passed", "failed", "not implemented"
  std::string detail;
  double max_abs = 0, max_rel = 0, share = 0;
};

/// The files of golden cases that `paths` name, or hold if they are folders. Throws FileError for a
/// path that is missing or holds none.
std::vector<std::filesystem::path> cases_in(const std::vector<std::string>& paths);

/// Runs one case on a device. Never throws: what went wrong is the detail.
Outcome run(const std::filesystem::path& path, const Device& device);

}  // namespace fovea::verify
