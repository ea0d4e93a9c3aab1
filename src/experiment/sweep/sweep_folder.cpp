#include "experiment/sweep/sweep_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/holder.h"
#include "base/shared_folder.h"
#include "schema/compare.h"
#include "schema/json/parse.h"

namespace fovea::experiment {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostDifferences = 3;

// Hidden files are of no interest; the other exception is left by a killed first write.
bool holds_something(const fs::path& folder) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const std::string name = entry.path().filename().string();
    if (name.front() != '.' && !name.starts_with("ablation.json")) return true;
  }
  return false;
}

// Temporary files of write_atomic() whose process was killed here.
std::vector<fs::path> half_written_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const fs::path name = entry.path().filename();
    if (io::temporary_of(name.string()).empty()) continue;
    const std::string digits = name.stem().extension().string().substr(1);
    if (are_of_ended_process(digits)) files.push_back(entry.path());
  }
  return files;
}

// Another content is what the ablation has become; nobody may be at work on what it was.
void refuse_others_at_work(const fs::path& out, const schema::Value& before,
                           const schema::Value& now) {
  io::ClaimWatch watch;
  for (const fs::path& claim : claims_in(out)) {
    const auto sight = watch.look(claim);
    if (!sight || sight->gone) continue;
    std::vector<std::string> differences = schema::diff(before, now);
    if (differences.size() > kMostDifferences) {
      const std::size_t more = differences.size() - kMostDifferences;
      differences.resize(kMostDifferences);
      differences.push_back(fmt::format("and {} more", more));
    }
    throw ConfigError(fmt::format(
        "{}: {} works there on this ablation as it was before ({}); wait until its jobs have "
        "ended, or choose another --out",
        out.string(), described(sight->holder), fmt::join(differences, "; ")));
  }
}

}  // namespace

std::set<fs::path> claims_in(const fs::path& out) {
  constexpr std::string_view kEnd = ".claim";
  const fs::path jobs = out / "jobs";
  std::set<fs::path> claims;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(jobs, code)) {
    const std::string name = entry.path().filename().string();
    const std::size_t end = name.rfind(kEnd);
    if (end != std::string::npos) claims.insert(jobs / name.substr(0, end + kEnd.size()));
  }
  return claims;
}

void open_sweep_folder(const Ablation& ablation, const fs::path& out) {
  const fs::path file = out / "ablation.json";
  const schema::Value now = to_value(ablation);
  const std::string content = now.dump() + "\n";
  // Looked at first: who comes first writes the file before anything else.
  const bool something = holds_something(out);
  io::see_news(out);
  std::error_code code;
  if (fs::exists(file, code)) {
    const std::string known = io::read_text(file);
    const schema::Value before = schema::parse(known, file.string(), {64, std::size_t{1} << 30});
    const schema::Value* name = before.find("name");
    FOVEA_CHECK(
        name != nullptr && name->is_string() && name->as_string() == ablation.name, ConfigError,
        fmt::format("{}: holds the ablation {}, not \"{}\"; choose another --out", out.string(),
                    name != nullptr ? name->dump(0) : "of another program", ablation.name));
    if (known != content) {
      refuse_others_at_work(out, before, now);
      io::write_atomic(file, content);
    }
  } else {
    FOVEA_CHECK(
        !something, ConfigError,
        fmt::format("{}: is not empty and holds no ablation; choose another --out", out.string()));
    io::write_atomic(file, content);
  }
  io::make_directories(out / "jobs");
  io::make_directories(out / "runs");
}

void tidy_folder(const fs::path& out, io::ClaimWatch& watch) {
  for (const fs::path& claim : claims_in(out)) {
    const auto sight = watch.look(claim);
    if (sight && sight->gone) watch.take(claim);  // and released
    for (const fs::path& file : io::litter_of_claim(claim)) io::remove_all(file);
  }
  for (const fs::path& folder : {out, out / "jobs"}) {
    for (const fs::path& file : half_written_in(folder)) io::remove_all(file);
  }
}

}  // namespace fovea::experiment
