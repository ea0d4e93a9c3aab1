// Numbers of heads and of patches as users list them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fovea::explain {

/// Both ends are among them.
using NumberRange = std::pair<std::int64_t, std::int64_t>;

/// "0,2,5-7". For anything else `refuse`, which throws, gets the part that is wrong.
std::vector<NumberRange> number_ranges(const std::string& text,
                                       const std::function<void(const std::string& word)>& refuse);

}  // namespace fovea::explain
