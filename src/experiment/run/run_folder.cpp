#include "experiment/run/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/shared_folder.h"
#include "schema/compare.h"
#include "schema/json/parse.h"
#include "schema/load.h"
#include "training/store/checkpoint.h"
#include "training/store/run_lock.h"
#include "training/store/run_state.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using schema::Value;

constexpr std::size_t kLongestLine = 500;

Value read_json(const fs::path& file) {
  return schema::parse(io::read_text(file, schema::Limits().bytes), file.string());
}

// The names of all jobs that the folder of a sweep has something of.
std::set<std::string> stored_ids(const fs::path& sweep) {
  std::set<std::string> ids;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(sweep / "runs", code))
    ids.insert(entry.path().filename().string());
  for (const auto& entry : fs::directory_iterator(sweep / "jobs", code)) {
    if (entry.path().extension() == ".json") ids.insert(entry.path().stem().string());
  }
  return ids;
}

// The seeds that ablation.json names; none where there is no such file.
std::vector<std::int64_t> stored_seeds(const fs::path& sweep) {
  std::vector<std::int64_t> seeds;
  const fs::path file = sweep / "ablation.json";
  std::error_code code;
  if (!fs::exists(file, code)) return seeds;
  try {
    const Value stored =
        schema::parse(io::read_text(file), file.string(), {64, std::size_t{1} << 30});
    for (const Value& seed : stored.at("seeds").items()) seeds.push_back(seed.as_int());
  } catch (const ConfigError&) {
    return {};  // run_sweep refuses the folder
  }
  return seeds;
}

// A job that no plan knows by its name.
struct StoredJob {
  std::string id;
  Value config;  // brought up to date
  bool finished = false;
};

std::vector<StoredJob> unknown_jobs(const Ablation& ablation, const fs::path& sweep,
                                    std::set<std::string> ids) {
  for (const Job& job : ablation.jobs) ids.erase(job.id);
  std::vector<StoredJob> found;
  for (const std::string& id : ids) {
    Job named;
    named.id = id;
    const JobPaths paths = paths_of(sweep, named);
    std::error_code code;
    try {
      const fs::path file = paths.run / "config.json";
      const Value stored = read_json(fs::exists(file, code) ? file : paths.config);
      found.push_back({id, brought_up_to_date(ablation.kind, stored),
                       fs::exists(paths.run / "summary.json", code)});
    } catch (const Error&) {
      continue;  // of nothing this program knows
    }
  }
  // Where two folders hold the same run, the finished one is the better.
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.finished > b.finished; });
  return found;
}

}  // namespace

JobPaths paths_of(const fs::path& sweep, const Job& job) {
  const fs::path jobs = sweep / "jobs";
  const fs::path run = sweep / "runs" / job.id;
  return {jobs / (job.id + ".json"),
          jobs / (job.id + ".out"),
          jobs / (job.id + ".err"),
          jobs / (job.id + ".failed"),
          jobs / (job.id + ".claim"),
          run,
          run / "eval" / "val" / "results.json"};
}

RunSummary read_summary(const fs::path& run) {
  const Value summary = read_json(run / "summary.json");
  RunSummary result;
  for (const auto& split : summary.at("metrics").members()) {
    for (const auto& metric : split.value.members()) {
      if (training::is_note(metric.key)) continue;
      result.metrics[{split.key, metric.key}] = metric.value.is_null()
                                                    ? std::numeric_limits<double>::quiet_NaN()
                                                    : metric.value.as_double();
      const metrics::Coverage coverage = training::coverage_in(split.value, metric.key);
      if (!coverage.complete()) result.coverage[{split.key, metric.key}] = coverage;
    }
  }
  const auto integer = [&](const char* key) -> std::optional<std::int64_t> {
    const Value* value = summary.find(key);
    return value == nullptr || value->is_null() ? std::nullopt : std::optional(value->as_int());
  };
  result.parameters = integer("parameters");
  result.macs = integer("macs");
  result.macs_paper = integer("macs_paper");
  result.epochs = integer("epochs");
  if (const Value* size = summary.find("macs_size"); size != nullptr && size->is_string())
    result.macs_size = size->as_string();
  if (const Value* time = summary.find("time_s"); time != nullptr && !time->is_null())
    result.time_s = time->as_double();
  if (const Value* hash = schema::find_path(summary, "data.hash"); hash && hash->is_string())
    result.data = hash->as_string();
  if (const Value* split = summary.find("selected_on"); split && split->is_string())
    result.selected_on = split->as_string();
  const Value* by = schema::find_path(summary, "best.metric");
  if (!result.selected_on.empty() && by != nullptr && by->is_string())
    result.selected_by = by->as_string();
  for (const char* key : {"version", "commit", "compiler", "backend"}) {
    const Value* value = summary.find(key);
    if (value == nullptr) continue;
    result.program += (result.program.empty() ? "" : ", ") +
                      (value->is_string() ? value->as_string() : value->dump(0));
  }
  return result;
}

void recognise_jobs(Ablation& ablation, const fs::path& sweep) {
  const std::set<std::string> ids = stored_ids(sweep);
  std::vector<StoredJob> unknown = unknown_jobs(ablation, sweep, ids);
  for (Job& job : ablation.jobs) {
    if (unknown.empty()) return;
    if (ids.contains(job.id)) continue;
    const auto same = std::find_if(unknown.begin(), unknown.end(), [&](const StoredJob& stored) {
      return schema::content_hash(
                 schema::identity(*ablation.kind.fields, stored.config, job.counted)) == job.hash;
    });
    if (same == unknown.end()) continue;
    job.id = same->id;
    unknown.erase(same);
  }
}

Ablation load_for_folder(const fs::path& file, const ExperimentKind& kind,
                         const AblationOverrides& overrides, const fs::path& sweep) {
  Ablation ablation = load_ablation(file, kind, overrides);
  if (overrides.seeds.empty() || ablation.folds > 0) {
    recognise_jobs(ablation, sweep);
    return ablation;
  }
  AblationOverrides all = overrides;
  all.seeds = stored_seeds(sweep);
  for (const std::int64_t seed : overrides.seeds) {
    if (std::find(all.seeds.begin(), all.seeds.end(), seed) == all.seeds.end())
      all.seeds.push_back(seed);
  }
  ablation = load_ablation(file, kind, all);
  recognise_jobs(ablation, sweep);
  // Seeds of which no row has a finished run are not missing from the table.
  const auto wanted = [&](std::int64_t seed) {
    const auto& asked = overrides.seeds;
    if (std::find(asked.begin(), asked.end(), seed) != asked.end()) return true;
    return std::any_of(ablation.jobs.begin(), ablation.jobs.end(), [&](const Job& job) {
      return job.seed == seed && status_of(ablation, sweep, job).state == JobState::kFinished;
    });
  };
  std::erase_if(ablation.seeds, [&](std::int64_t seed) { return !wanted(seed); });
  const auto& left = ablation.seeds;
  std::erase_if(ablation.jobs, [&](const Job& job) {
    return std::find(left.begin(), left.end(), job.seed) == left.end();
  });
  return ablation;
}

bool is_trained(const Ablation& ablation, const fs::path& sweep, const Job& job) {
  const fs::path run = paths_of(sweep, job).run;
  try {
    read_summary(run);
    const Value stored = read_json(run / "config.json");
    if (stored == job.config) return true;  // mostly, and quickly told
    return schema::content_hash(identity(ablation.kind, stored, job.counted)) == job.hash;
  } catch (const Error&) {
    return false;  // missing, cut short or of another kind: the run is done again
  }
}

JobStatus status_of(const Ablation& ablation, const fs::path& sweep, const Job& job) {
  const JobPaths paths = paths_of(sweep, job);
  for (const fs::path& folder : {paths.claim.parent_path(), paths.run, paths.cases.parent_path()})
    io::see_news(folder);
  std::error_code code;
  const bool trained = is_trained(ablation, sweep, job);
  const bool scored = !job.fold || fs::exists(paths.cases, code);
  if (trained && scored) return {JobState::kFinished, ""};
  if (fs::exists(paths.failed, code)) return {JobState::kFailed, last_line(paths.failed)};
  if (trained || training::CheckpointStore(paths.run).any()) return {JobState::kPartial, ""};
  return {JobState::kMissing, ""};
}

std::optional<io::ClaimSight> look_at(const JobPaths& paths, io::ClaimWatch& watch) {
  // Always both, so that the watch sees how long each gives no sign of life.
  auto claim = watch.look(paths.claim);
  auto run = watch.look(training::run_lock_of(paths.run));
  const bool by_run = run && (!claim || (claim->gone && !run->gone));
  return by_run ? run : claim;
}

std::vector<JobStatus> survey(const Ablation& ablation, const fs::path& sweep,
                              const std::vector<const Job*>& jobs) {
  std::vector<JobStatus> all;
  io::ClaimWatch watch;
  for (const Job* job : jobs) {
    JobStatus status = status_of(ablation, sweep, *job);
    status.held = look_at(paths_of(sweep, *job), watch);
    if (status.held && !status.held->gone && status.state != JobState::kFinished) {
      status.state = JobState::kRunning;
      status.message.clear();
    }
    all.push_back(std::move(status));
  }
  return all;
}

const char* name_of(JobState state) {
  switch (state) {
    case JobState::kMissing:
      return "missing";
    case JobState::kPartial:
      return "partial";
    case JobState::kFinished:
      return "finished";
    case JobState::kFailed:
      return "failed";
    case JobState::kRunning:
      return "running";
  }
  return "";
}

std::string last_line(const fs::path& file) {
  std::string text;
  try {
    text = io::read_text(file);
  } catch (const FileError&) {
    return "";
  }
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const std::size_t line = text.find_last_of("\r\n", end);
  const std::size_t begin = line == std::string::npos ? 0 : line + 1;
  return text.substr(begin, std::min(end + 1 - begin, kLongestLine));
}

}  // namespace fovea::experiment
