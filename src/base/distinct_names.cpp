#include "base/distinct_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

namespace fovea {
namespace {

// Level 0: the name without ending; 1: with ending; from 2 on: the last `level` parts of the path.
// Empty where the path has fewer parts.
std::string name_at(const std::filesystem::path& path, int level) {
  if (level == 0) return path.stem().string();
  auto part = path.end();
  for (int k = 0; k < level; ++k) {
    if (part == path.begin()) return "";
    --part;
  }
  std::filesystem::path name;
  for (; part != path.end(); ++part) name /= *part;
  return name.string();
}

}  // namespace

std::string slug(std::string text) {
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return text;
}

std::vector<std::string> file_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  std::vector<int> levels(paths.size(), 0);
  for (const std::string& path : paths) names.push_back(name_at(path, 0));
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::string, int> count;
    for (const std::string& name : names) ++count[slug(name)];
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (count[slug(names[i])] == 1) continue;
      const std::string longer = name_at(paths[i], levels[i] + 1);
      if (longer.empty()) continue;
      names[i] = longer;
      ++levels[i];
      changed = true;
    }
  }
  return names;
}

std::vector<std::string> distinct(std::vector<std::string> names) {
  std::set<std::string> taken;
  for (std::string& name : names) {
    const std::string first = name;
    for (int number = 2; !taken.insert(slug(name)).second; ++number) {
      name = fmt::format("{} ({})", first, number);
    }
  }
  return names;
}

std::vector<std::string> distinct_stems(const std::vector<std::string>& paths) {
  std::vector<std::string> stems;
  std::map<std::string, int> count;
  for (const std::string& path : paths) ++count[stems.emplace_back(name_at(path, 0))];
  std::set<std::string> taken;
  for (const auto& [stem, times] : count) {
    if (times == 1) taken.insert(stem);
  }
  for (std::size_t i = 0; i < stems.size(); ++i) {
    if (count[stems[i]] == 1) continue;
    std::string numbered = fmt::format("{}-{}", stems[i], i);
    while (!taken.insert(numbered).second) numbered += "_";
    stems[i] = numbered;
  }
  return stems;
}

}  // namespace fovea
