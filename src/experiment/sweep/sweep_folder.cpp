#include "experiment/sweep/sweep_folder.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "experiment/run/run_folder.h"
#include "schema/json/parse.h"

namespace fovea::experiment {

namespace fs = std::filesystem;

namespace {

// Hidden files are our locks or of no interest; the other exception is left by a killed first
// write.
bool holds_something(const fs::path& folder) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const std::string name = entry.path().filename().string();
    if (name.front() != '.' && !name.starts_with("ablation.json.")) return true;
  }
  return false;
}

}  // namespace

std::vector<FileLock> lock_folder(const fs::path& out, const Shard& shard) {
  const bool whole = shard.count == 1;
  const auto take = [&](const std::string& name, FileLock::Mode mode) {
    auto lock = FileLock::try_lock(out / name, mode);
    FOVEA_CHECK(lock, ConfigError,
                fmt::format("{}: another ablate ({}) is at work in this folder; wait for it or "
                            "choose another --out",
                            out.string(), last_line(out / name)));
    lock->write("process " + this_process() + "\n");
    return std::move(*lock);
  };
  std::vector<FileLock> locks;
  locks.push_back(take(".lock", whole ? FileLock::Mode::kExclusive : FileLock::Mode::kShared));
  if (!whole) {
    locks.push_back(
        take(fmt::format(".lock-{}-of-{}", shard.index, shard.count), FileLock::Mode::kExclusive));
  }
  return locks;
}

void claim_folder(const Ablation& ablation, const fs::path& out) {
  const fs::path file = out / "ablation.json";
  const std::string content = to_value(ablation).dump() + "\n";
  std::error_code code;
  if (fs::exists(file, code)) {
    const std::string known = io::read_text(file);
    const schema::Value value = schema::parse(known, file.string(), {64, std::size_t{1} << 30});
    const schema::Value* name = value.find("name");
    FOVEA_CHECK(
        name != nullptr && name->is_string() && name->as_string() == ablation.name, ConfigError,
        fmt::format("{}: holds the ablation {}, not \"{}\"; choose another --out", out.string(),
                    name != nullptr ? name->dump(0) : "of another program", ablation.name));
    if (known != content) io::write_atomic(file, content);
  } else {
    FOVEA_CHECK(
        !holds_something(out), ConfigError,
        fmt::format("{}: is not empty and holds no ablation; choose another --out", out.string()));
    io::write_atomic(file, content);
  }
  io::make_directories(out / "jobs");
  io::make_directories(out / "runs");
}

}  // namespace fovea::experiment
