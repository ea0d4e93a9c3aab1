// Which key was meant: the nearest spelling, or another tool's word for the same thing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea::schema {

/// The known key most likely meant by `key`: equal except for case, `_` and `-`; then the nearest
/// spelling (base/suggest.h); then a synonym (timm's, PyTorch's or another common word). Empty if
/// there is none. Synonyms are only suggested, never accepted.
std::string suggest_key(std::string_view key, const std::vector<std::string>& known);

}  // namespace fovea::schema
