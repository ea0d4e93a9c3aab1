#include "bench/memory.h"

#include <charconv>
#include <fstream>
#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace fovea::bench {
namespace {

// A line such as "VmHWM:     10240 kB" of Linux.
std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key + ":")) continue;
    const std::size_t digit = line.find_first_of("0123456789");
    if (digit == std::string::npos) return 0;
    std::int64_t kibibytes = 0;
    std::from_chars(line.data() + digit, line.data() + line.size(), kibibytes);
    return 1024 * kibibytes;
  }
  return 0;
}

}  // namespace

std::int64_t resident_bytes() { return status_bytes("VmRSS"); }

std::int64_t peak_resident_bytes() { return status_bytes("VmHWM"); }

void reset_peak_resident() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace fovea::bench
