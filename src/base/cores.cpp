#include "base/cores.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace fovea {
namespace {

namespace fs = std::filesystem;

// Empty where it cannot be read: most systems have few of these files.
std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string_view up_to(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

// CPU time of a group in a period, both in microseconds; "max" and -1 mean no quota.
int cores_of(std::string_view quota, std::string_view period) {
  const auto work = number(quota);
  const auto time = number(period);
  if (!work || !time || *work <= 0 || *time <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>((*work - 1) / *time + 1, 1 << 20));
}

int tighter(int a, int b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

// The quota of one group, from the files of version 1 or 2.
int quota_of(const fs::path& group) {
  const std::string both = content(group / "cpu.max");
  std::string_view left = both;
  const std::string_view quota = up_to(left, ' ');
  return tighter(cores_of(quota, left), cores_of(content(group / "cpu.cfs_quota_us"),
                                                 content(group / "cpu.cfs_period_us")));
}

int affinity_cores() {
#if defined(__linux__)
  // The call fails while the mask is shorter than the system's.
  for (std::size_t most = CPU_SETSIZE; most <= std::size_t{1} << 20; most *= 2) {
    std::vector<cpu_set_t> mask(most / CPU_SETSIZE);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0) return CPU_COUNT_S(bytes, mask.data());
  }
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

int quota_cores(std::string_view groups, const fs::path& root) {
  int cores = 0;
  while (!groups.empty()) {
    // number:controllers:path, without controllers in version 2.
    std::string_view path = up_to(groups, '\n');
    up_to(path, ':');
    const std::string_view controllers = up_to(path, ':');
    std::vector<fs::path> mounts{root / controllers};
    if (controllers.empty()) {
      mounts = {root, root / "unified"};
    } else {
      std::string_view left = controllers;
      bool counts = false;
      while (!left.empty()) counts = up_to(left, ',') == "cpu" || counts;
      if (!counts) continue;
      mounts.push_back(root / "cpu");
    }
    for (const fs::path& mount : mounts) {
      // A container may not see the folders of its outer groups; missing ones are skipped.
      for (fs::path group = fs::path(path).relative_path();; group = group.parent_path()) {
        cores = tighter(cores, quota_of(mount / group));
        if (group.empty()) break;
      }
    }
  }
  return cores;
}

int usable_cores() {
  const int quota = quota_cores(content("/proc/self/cgroup"), "/sys/fs/cgroup");
  return std::max(1, tighter(affinity_cores(), quota));
}

}  // namespace fovea
