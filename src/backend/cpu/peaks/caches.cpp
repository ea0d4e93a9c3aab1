#include "backend/cpu/peaks/caches.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

namespace fovea::cpu {
namespace {

constexpr int kMostCores = 1 << 20;  // what is beyond is no list of cores

// The first word of a file, or "".
std::string word_of(const std::filesystem::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

// The number that text begins with, which is taken away; -1 without one.
std::int64_t take_number(std::string_view& text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// "32K", "1M".
std::int64_t bytes_of(std::string_view text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;  // of KiB or MiB
  const std::int64_t number = take_number(text);
  if (number <= 0 || number > kMost) return 0;
  return text == "K" ? number << 10 : text == "M" ? number << 20 : number;
}

}  // namespace

int cores_of_list(const std::string& list) {
  std::int64_t count = 0;
  for (std::string_view rest = list; !rest.empty();) {
    const std::int64_t first = take_number(rest);
    std::int64_t last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_number(rest);
    }
    if (first < 0 || last < first || last > kMostCores) return 0;
    count += last - first + 1;
    if (rest.starts_with(',')) {
      rest.remove_prefix(1);
    } else if (!rest.empty()) {
      return 0;
    }
  }
  return static_cast<int>(std::min<std::int64_t>(count, kMostCores));
}

std::vector<Cache> data_caches(const std::filesystem::path& folder) {
  std::vector<Cache> caches;
  constexpr int kMostEntries = 16;
  for (int i = 0; i < kMostEntries; ++i) {
    const std::filesystem::path entry = folder / ("index" + std::to_string(i));
    const std::string type = word_of(entry / "type");
    const std::string level = word_of(entry / "level");
    const std::int64_t bytes = bytes_of(word_of(entry / "size"));
    if ((type != "Data" && type != "Unified") || level.size() != 1 || bytes == 0) continue;
    const int cores = cores_of_list(word_of(entry / "shared_cpu_list"));
    caches.push_back({level[0] - '0', bytes, std::max(1, cores)});
  }
  std::sort(caches.begin(), caches.end(),
            [](const Cache& a, const Cache& b) { return a.level < b.level; });
  if (caches.empty() || caches.front().level != 1)
    return {{1, 32 << 10, 1}, {2, 1 << 20, 1}, {3, 16 << 20, kMostCores}};
  return caches;
}

std::int64_t capacity_of(const Cache& cache, int threads, int cores) {
  const int instances = std::clamp(cores / cache.cores, 1, std::max(1, threads));
  return cache.bytes * instances;
}

}  // namespace fovea::cpu
