#include "backend/gpu/opencl/program_cache.h"

#include "base/cache_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace fovea::gpu {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  const fs::path cache = cache_folder();
  return cache.empty() ? cache : cache / "opencl";
}

// FNV-1a from two starts.
template <class Bytes>
std::uint64_t hash_of(const Bytes& bytes, std::uint64_t start) {
  std::uint64_t hash = start;
  for (const auto byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ull;
  return hash;
}

// Behind a program in its file: a driver may crash on one that is damaged.
std::string seal_of(const Binary& program) {
  return fmt::format("{:016x}", hash_of(program, 0xcbf29ce484222325ull));
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
  Binary program(std::istreambuf_iterator<char>(file), {});
  constexpr std::size_t kSeal = 16;
  if (program.size() < kSeal) return std::nullopt;
  const std::string seal(program.end() - kSeal, program.end());
  program.erase(program.end() - kSeal, program.end());
  if (seal != seal_of(program)) return std::nullopt;
  return program;
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
  file << seal_of(binary);
  file.close();
  if (file) fs::rename(beside, path / (key + ".bin"), failed);
  if (!file || failed) fs::remove(beside, failed);
}

}  // namespace fovea::gpu
