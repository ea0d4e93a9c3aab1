// A short hash of content, to tell equal from different. It is not cryptographic.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace fovea {

/// 16 hexadecimal digits: FNV-1a over 8-byte words. Any single changed bit changes it.
std::string hash_bytes(std::string_view bytes);

/// The hash of a whole file, read in pieces. It differs from hash_bytes() of the same bytes. Throws
/// FileError.
std::string hash_file(const std::filesystem::path& file);

}  // namespace fovea
