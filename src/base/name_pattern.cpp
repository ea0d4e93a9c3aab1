#include "base/name_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/error.h"
#include "base/suggest.h"

namespace fovea {
namespace {

// What a pattern may have been meant to be: a name, all names below a module, or all that end
// alike.
std::vector<std::string> patterns_for(const std::vector<std::string>& names) {
  std::vector<std::string> all = names;
  std::set<std::string> wide;
  for (const std::string& name : names) {
    for (std::size_t dot = name.find('.'); dot != std::string::npos;
         dot = name.find('.', dot + 1)) {
      wide.insert(fmt::format("{}.*", name.substr(0, dot)));
      wide.insert(fmt::format("*{}", name.substr(dot)));
    }
  }
  all.insert(all.end(), wide.begin(), wide.end());
  return all;
}

}  // namespace

bool matches_pattern(const std::string& name, const std::string& pattern) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string::npos;  // last '*' seen; its match ends at `taken`
  std::size_t taken = 0;
  while (t < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == name[t]) {
      ++p;
      ++t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

void require_matches(const std::string& key, const std::vector<std::string>& patterns,
                     const std::vector<std::string>& names, const std::string& kind) {
  for (const std::string& pattern : patterns) {
    const bool any = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return matches_pattern(name, pattern);
    });
    if (any) continue;
    const std::string hint = did_you_mean(pattern, patterns_for(names));
    throw ConfigError(fmt::format("{}: \"{}\" matches none of the {} {}{}", key, pattern,
                                  names.size(), kind,
                                  hint.empty() ? "; * stands for any characters, dots too" : hint));
  }
}

}  // namespace fovea
