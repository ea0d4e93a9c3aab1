// Completion of commands, options and file names in shells, written from what the programs list of
// themselves.
#pragma once

#include <string>
#include <vector>

#include "fovea/commands.h"

namespace fovea::apps {

/// A script for `source <(fovea completion bash)`: the function _fovea and its registration.
std::string bash_completion(const std::vector<ListedProgram>& programs);
/// The same for zsh, also as a file _fovea in a folder of $fpath.
std::string zsh_completion(const std::vector<ListedProgram>& programs);

}  // namespace fovea::apps
