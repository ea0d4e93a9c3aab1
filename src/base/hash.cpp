#include "base/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/file.h"

namespace fovea {

std::string hash_bytes(std::string_view bytes) {
  constexpr std::uint64_t kPrime = 1099511628211ull;
  std::uint64_t hash = 14695981039346656037ull ^ bytes.size();
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t taken = std::min<std::size_t>(bytes.size(), 8);
    std::memcpy(&word, bytes.data(), taken);
    // Each line is a bijection of the hash, so differences never cancel in one step. A product
    // carries bits only upwards; the shift brings the upper ones back down.
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 32;
    bytes.remove_prefix(taken);
  }
  return fmt::format("{:016x}", hash);
}

std::string hash_file(const std::filesystem::path& file) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const io::ReadFile in(file);
  std::vector<std::byte> piece(kPiece);
  std::string hashes;
  for (std::uint64_t at = 0;;) {
    const std::size_t got = in.read_at(at, piece);
    if (got == 0) break;
    hashes += hash_bytes({reinterpret_cast<const char*>(piece.data()), got});
    at += got;
  }
  return hash_bytes(hashes);
}

}  // namespace fovea
