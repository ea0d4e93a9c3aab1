// Patterns for names of parameters and tensors, as users write them.
#pragma once

#include <string>

namespace fovea {

/// True if the whole name matches `pattern`, in which `*` stands for any characters, dots too.
bool matches_pattern(const std::string& name, const std::string& pattern);

}  // namespace fovea
