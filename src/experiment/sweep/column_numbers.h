// Inside of ablation.cpp: numbers by the columns of a table, as a command line gives them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fovea::experiment {

/// "test_top1=0.5" each. Throws ConfigError, with the flag, for what is no number above 0.
std::map<std::string, double> numbers_by_column(const std::string& flag,
                                                const std::vector<std::string>& texts);

}  // namespace fovea::experiment
