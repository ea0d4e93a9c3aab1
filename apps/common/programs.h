// The programs beside this one: a build may have some of them only (cmake --target).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace fovea::apps {

/// A program in the folder of this one; nothing where it was not built.
std::optional<std::filesystem::path> program_of(const std::string& name);

/// "eval is not built; run: cmake --build --preset release --target eval"
std::string not_built(const std::string& name);

}  // namespace fovea::apps
