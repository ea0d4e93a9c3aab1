#include "common/programs.h"

#include <fmt/format.h>

namespace fovea::apps {

std::optional<std::filesystem::path> program_of(const std::string& name) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const auto program = self.parent_path() / name;
  if (!std::filesystem::exists(program)) return std::nullopt;
  return program;
}

std::string not_built(const std::string& name) {
  return fmt::format("{} is not built; run: cmake --build --preset release --target {}", name,
                     name);
}

}  // namespace fovea::apps
