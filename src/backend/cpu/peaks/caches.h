// The caches of the processor, as Linux lists them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fovea::cpu {

struct Cache {
  int level = 1;
  std::int64_t bytes = 0;
  int cores = 1;  // that share it, as the system counts them
};

/// Those that hold data, from the first level on, of the folder of a core. Without such a folder,
/// or where it has no data cache of the first level: 32 KiB and 1 MiB of each core and 16 MiB of
/// all.
std::vector<Cache> data_caches(
    const std::filesystem::path& folder = "/sys/devices/system/cpu/cpu0/cache");

/// Bytes of a cache that so many threads have together, on a processor of so many cores.
std::int64_t capacity_of(const Cache& cache, int threads, int cores);

/// The number of a list of cores: "0-3,8" are 5. 0 for what is none.
int cores_of_list(const std::string& list);

}  // namespace fovea::cpu
