// A short name for content, to tell equal from different; not against forgers.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace fovea {

/// 16 hexadecimal digits: FNV-1a over 8-byte words. Any single changed bit changes it.
std::string hash_bytes(std::string_view bytes);

/// The same of a whole file, read in pieces: other digits than those of its bytes in one. Throws
/// FileError.
std::string hash_file(const std::filesystem::path& file);

}  // namespace fovea
