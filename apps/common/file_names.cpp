#include "common/file_names.h"

#include <filesystem>
#include <map>
#include <set>

namespace fovea::apps {

std::vector<std::string> distinct_stems(const std::vector<std::string>& names) {
  std::vector<std::string> stems;
  std::map<std::string, int> count;
  for (const std::string& name : names) {
    stems.push_back(std::filesystem::path(name).stem().string());
    ++count[stems.back()];
  }
  std::set<std::string> taken;
  for (const auto& [stem, times] : count) {
    if (times == 1) taken.insert(stem);
  }
  for (std::size_t i = 0; i < stems.size(); ++i) {
    if (count[stems[i]] == 1) continue;
    std::string numbered = stems[i] + "-" + std::to_string(i);
    while (!taken.insert(numbered).second) numbered += "_";
    stems[i] = numbered;
  }
  return stems;
}

}  // namespace fovea::apps
