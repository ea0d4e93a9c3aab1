// How much memory a process may use on this machine.
#pragma once

#include <cstdint>
#include <filesystem>

namespace fovea::experiment {

/// Bytes of memory of the machine, or of the smallest control group this process is in, if that is
/// less; 0 if neither is known. `root` is where /proc and /sys are, for the tests.
std::int64_t machine_memory(const std::filesystem::path& root = "/");

}  // namespace fovea::experiment
