// Patterns for names of parameters and tensors, as users write them.
#pragma once

#include <string>
#include <vector>

namespace fovea {

/// True if the whole name matches `pattern`, in which `*` stands for any characters, dots too.
bool matches_pattern(const std::string& name, const std::string& pattern);

/// Throws ConfigError for the first pattern that matches none of these dotted names, with the
/// nearest name or pattern that would: `train.freeze: "heda.*" matches none of the 152 parameters;
/// did you mean "head.*"?`. key: of the patterns; kind: "parameters".
void require_matches(const std::string& key, const std::vector<std::string>& patterns,
                     const std::vector<std::string>& names, const std::string& kind);

}  // namespace fovea
