// What runs are called in pictures and tables.
#pragma once

#include <string>
#include <vector>

namespace fovea::visualise {

/// Names as they stand in config.json; where all are rows of one sweep ("table1/ResNet-20"),
/// without the name of the sweep.
std::vector<std::string> without_sweep(std::vector<std::string> names);

}  // namespace fovea::visualise
