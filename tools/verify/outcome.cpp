#include "verify/outcome.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "verify/runners.h"

namespace fovea::verify {

namespace fs = std::filesystem;

std::vector<fs::path> cases_in(const std::vector<std::string>& paths) {
  std::vector<fs::path> found;
  for (const std::string& path : paths) {
    FOVEA_CHECK(fs::exists(path), FileError, fmt::format("{}: not found", path));
    if (!fs::is_directory(path)) {
      found.emplace_back(path);
      continue;
    }
    const std::size_t before = found.size();
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.path().extension() == ".safetensors") found.push_back(entry.path());
    }
    // Nothing to compare would look like nothing to complain about.
    FOVEA_CHECK(
        found.size() > before, FileError,
        fmt::format("{}: holds no golden case; expected files that end in .safetensors", path));
  }
  std::sort(found.begin(), found.end());
  return found;
}

Outcome run(const fs::path& path, const Device& device) {
  Outcome outcome{path.filename().string(), "failed", "", 0, 0, 0};
  try {
    const Case c(path, device);
    const Runner* runner = runners().find(c.op());
    if (runner == nullptr) throw NotImplemented(fmt::format("no {}", c.op()));
    Checker check(c);
    (*runner)(c, check);
    check.finish();
    outcome.max_abs = check.max_abs();
    outcome.max_rel = check.max_rel();
    outcome.share = check.share();
    outcome.status = check.passed() ? "passed" : "failed";
    outcome.detail = check.passed() ? fmt::format("worst {}", check.worst()) : check.complaint();
  } catch (const NotImplemented& missing) {
    outcome.status = "not implemented";
    outcome.detail = missing.what();
  } catch (const ConfigError& refused) {  // by a schema, or by a module for sizes it cannot have
    outcome.status = "not implemented";
    outcome.detail = refused.what();
  } catch (const std::exception& error) {
    outcome.detail = error.what();
  }
  return outcome;
}

}  // namespace fovea::verify
