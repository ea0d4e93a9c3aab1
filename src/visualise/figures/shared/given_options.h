// Inside of figure_list.cpp: the options that were given, and figures that have them.
#pragma once

#include <string>
#include <vector>

#include "visualise/figures/figure_list.h"

namespace fovea::visualise {

/// Those of a figure's own options that were given, as values that name the option.
schema::Value values_of(const Figure& figure, const GivenOptions& given);
/// Keys that were given and none of the figures has.
std::vector<std::string> unknown_to(const std::vector<const Figure*>& candidates,
                                    const GivenOptions& given);
/// "--layer: is an option of --scores, --pca".
std::string owners_text(const std::string& key);

}  // namespace fovea::visualise
