#include "backend/gpu/opencl/program_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fovea::gpu {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache) return fs::path(cache) / "fovea" / "opencl";
  const char* home = std::getenv("HOME");
  if (home && *home) return fs::path(home) / ".cache" / "fovea" / "opencl";
  return {};
}

// FNV-1a from two starts.
std::uint64_t hash_of(const std::string& text, std::uint64_t start) {
  std::uint64_t hash = start;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace

std::string program_key(const std::string& identity) {
  return fmt::format("{:016x}{:016x}", hash_of(identity, 0xcbf29ce484222325ull),
                     hash_of(identity, 0x9e3779b97f4a7c15ull));
}

std::optional<Binary> read_program(const std::string& key) {
  const fs::path path = folder();
  if (path.empty()) return std::nullopt;
  std::ifstream file(path / (key + ".bin"), std::ios::binary);
  if (!file) return std::nullopt;
  return Binary(std::istreambuf_iterator<char>(file), {});
}

void write_program(const std::string& key, const Binary& binary) {
  const fs::path path = folder();
  if (path.empty()) return;
  std::error_code failed;
  fs::create_directories(path, failed);
  const fs::path beside = path / fmt::format("{}.{}", key, getpid());
  std::ofstream file(beside, std::ios::binary);
  file.write(reinterpret_cast<const char*>(binary.data()),
             static_cast<std::streamsize>(binary.size()));
  file.close();
  if (file) fs::rename(beside, path / (key + ".bin"), failed);
  if (!file || failed) fs::remove(beside, failed);
}

}  // namespace fovea::gpu
