// How many cores the process may use.
#pragma once

#include <filesystem>
#include <string_view>

namespace fovea {

/// The cores in its affinity mask (taskset, a batch system), at most the CPU quota of its control
/// groups (a container), rounded up. At least 1.
int usable_cores();

/// The CPU quota of control groups in cores, rounded up; 0 without one. The tightest quota counts,
/// from the process's own group up to the root. groups: what /proc/self/cgroup holds; root: the
/// folder where the groups are mounted, of version 1, 2 or both.
int quota_cores(std::string_view groups, const std::filesystem::path& root);

}  // namespace fovea
