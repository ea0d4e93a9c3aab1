// Files that hold many samples, plain or gzip-compressed, read with a bound on what they expand to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::data {

/// `path` if it is a regular file, else `path` + ".gz". Throws FileError "dataset.root: PATH: not
/// found; see PAGE" if neither exists, with its own message for a folder or a device.
std::filesystem::path find_data_file(const std::filesystem::path& path, std::string_view page);

bool is_gzip(std::span<const std::byte> file);

/// The first bytes of what a gzip file expands to, at most `count` of them.
/// `name` starts the message of the FileError that a damaged stream throws.
std::vector<std::byte> inflate_prefix(std::span<const std::byte> file, std::size_t count,
                                      std::string_view name);

/// All that a gzip file expands to. Throws FileError as soon as that passes `max_bytes`, on a
/// damaged or cut stream, and on a failed checksum.
std::vector<std::byte> inflate(std::span<const std::byte> file, std::size_t max_bytes,
                               std::string_view name);

/// A gzip file of these bytes, the same every time.
std::string pack_gzip(std::string_view bytes);

/// Content of a plain or compressed file of at most `max_bytes` once expanded.
std::vector<std::byte> read_packed(const std::filesystem::path& path, std::size_t max_bytes);

}  // namespace fovea::data
