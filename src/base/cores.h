// How many cores the process may use.
#pragma once

#include <filesystem>
#include <string_view>

namespace fovea {

/// Those of its affinity mask (taskset, a batch system), but no more than the time its control
/// groups give it (a container): a quota of one and a half cores counts as two. At least 1.
int usable_cores();

/// The quota of control groups in cores, rounded up, or 0 where there is none. The tightest counts,
/// from the process's own group up to the root. groups: what /proc/self/cgroup holds; root: the
/// folder where the groups are mounted, of version 1, 2 or both.
int quota_cores(std::string_view groups, const std::filesystem::path& root);

}  // namespace fovea
