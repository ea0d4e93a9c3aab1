// "did you mean": the nearest of a list of known names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// Damerau-Levenshtein distance (insertions, deletions, substitutions, swaps of neighbours).
int edit_distance(std::string_view a, std::string_view b);

/// The nearest known name at a distance of at most 3 and at most a third of the length of `name`
/// (at least 1); empty if none is that near, and for a name of more than 1000 bytes. The first
/// wins a tie.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

/// `; did you mean "x"?` or nothing.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace fovea
