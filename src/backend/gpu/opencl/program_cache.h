// Compiled programs on disk, so that a driver's compiler runs once for each kernel and not in every
// run: $XDG_CACHE_HOME/fovea/opencl, else ~/.cache/fovea/opencl. A file that is not there, damaged
// or not writable costs a compilation and nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fovea::gpu {

using Binary = std::vector<unsigned char>;

/// A name for what identifies a program: device, driver, options and source.
std::string program_key(const std::string& identity);
std::optional<Binary> read_program(const std::string& key);
void write_program(const std::string& key, const Binary& binary);

}  // namespace fovea::gpu
