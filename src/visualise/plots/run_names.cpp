#include "visualise/plots/run_names.h"

#include <algorithm>

namespace fovea::visualise {

std::vector<std::string> without_sweep(std::vector<std::string> names) {
  if (names.empty()) return names;
  const std::string sweep = names.front().substr(0, names.front().find('/') + 1);
  const bool common = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.size() > sweep.size() && name.starts_with(sweep);
  });
  for (std::string& name : names) {
    if (common) name.erase(0, sweep.size());
  }
  return names;
}

}  // namespace fovea::visualise
