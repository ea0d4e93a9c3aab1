// The names of the classes in the order of a network's outputs. They lie beside the weights, which
// mean nothing without them: data whose classes have other names or another order are refused.
#pragma once

#include <string>
#include <vector>

namespace fovea::training {

/// Name of the list in run folders and checkpoints.
inline constexpr const char* kClassesFile = "classes.json";

/// The list as JSON.
std::string classes_text(const std::vector<std::string>& names);

/// Compares the list of a checkpoint with the classes of the data set at hand. Throws FileError
/// that names `file`, the first class that differs and both orders.
void check_classes(const std::string& text, const std::vector<std::string>& names,
                   const std::string& file);

}  // namespace fovea::training
