// inspect --list: what the registries have.
#pragma once

#include <string>
#include <vector>

namespace fovea::apps {

/// Prints the entries of a registry, or the keys of one. `words`: its kind, and maybe the entry's
/// name. Returns the exit status. Throws ConfigError for unknown ones.
int list_registry(const std::vector<std::string>& words, bool json);

}  // namespace fovea::apps
