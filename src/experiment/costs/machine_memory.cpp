#include "experiment/costs/machine_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string>

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// Files of /proc and /sys have no length, so they are read to their end. "" if it is not there.
std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The number a text begins with; "max" and anything else mean none.
std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && value > 0 ? value : kUnlimited;
}

std::int64_t physical(const fs::path& root) {
  const std::string text = content(root / "proc/meminfo");
  const std::size_t at = text.find("MemTotal:");
  if (at == std::string::npos) return kUnlimited;
  const std::int64_t kib = number(text.substr(text.find_first_not_of(' ', at + 9)));
  return kib == kUnlimited ? kUnlimited : kib * 1024;
}

// The limits of a group and of all it lies in.
std::int64_t group_limit(const fs::path& mount, const std::string& group, const char* file) {
  std::int64_t limit = kUnlimited;
  fs::path path = mount / fs::path(group).relative_path();
  for (;;) {
    limit = std::min(limit, number(content(path / file)));
    if (path == mount || !path.has_relative_path()) break;
    path = path.parent_path();
  }
  // Inside a container the group's own path may not be mounted.
  return std::min(limit, number(content(mount / file)));
}

std::int64_t group_limits(const fs::path& root) {
  const std::string groups = content(root / "proc/self/cgroup");
  std::int64_t limit = kUnlimited;
  for (std::size_t begin = 0; begin < groups.size();) {
    const std::size_t end = std::min(groups.find('\n', begin), groups.size());
    const std::string line = groups.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      limit = std::min(limit, group_limit(root / "sys/fs/cgroup", group, "memory.max"));
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      limit = std::min(limit,
                       group_limit(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return limit;
}

}  // namespace

std::int64_t machine_memory(const fs::path& root) {
  const std::int64_t bytes = std::min(physical(root), group_limits(root));
  return bytes == kUnlimited ? 0 : bytes;
}

}  // namespace fovea::experiment
