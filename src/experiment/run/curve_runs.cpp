#include "experiment/run/curve_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "experiment/file/experiment.h"
#include "experiment/run/run_draw.h"
#include "experiment/run/runner.h"
#include "schema/load.h"
#include "visualise/plots/run_names.h"

namespace fovea::experiment {
namespace {

// One run with all that decides where it is drawn.
struct CurveRun {
  std::filesystem::path folder;
  std::string name;
  RunDraw draw;
  std::vector<metrics::MetricInfo> metrics;
};

bool has_begun(const std::filesystem::path& run) {
  return io::fs::exists(run / "config.json") && io::fs::exists(run / "metrics.jsonl");
}

// The folders that a word of the command line stands for.
std::vector<std::filesystem::path> runs_in(const std::filesystem::path& folder,
                                           std::vector<std::string>& notes) {
  if (io::fs::exists(folder / "config.json")) return {folder};
  const std::filesystem::path runs = folder / "runs";
  const bool sweep = io::fs::is_directory(runs);
  std::vector<std::filesystem::path> all, begun;
  if (sweep || io::fs::is_directory(folder)) {
    for (const auto& entry : io::fs::directory_iterator(sweep ? runs : folder)) {
      if (entry.is_directory() && (sweep || io::fs::exists(entry.path() / "config.json")))
        all.push_back(entry.path());
    }
  }
  FOVEA_CHECK(sweep || !all.empty(), FileError,
              fmt::format("{}: is neither the folder of a run (config.json) nor of runs, nor of a "
                          "sweep (runs/)",
                          folder.string()));
  std::sort(all.begin(), all.end());
  std::copy_if(all.begin(), all.end(), std::back_inserter(begun), has_begun);
  FOVEA_CHECK(!begun.empty(), FileError,
              fmt::format("{}: none of its {} runs has begun", folder.string(), all.size()));
  if (begun.size() < all.size())
    notes.push_back(fmt::format("{}: {} of {} runs are drawn; the others have not begun",
                                folder.string(), begun.size(), all.size()));
  return begun;
}

CurveRun described_run(const std::filesystem::path& folder) {
  const schema::Value config = load_config(folder);
  const Experiment e = parse(config);
  return {folder, e.name, run_draw(config), metrics_of(e)};
}

}  // namespace

CurveRuns curve_runs(const std::vector<std::string>& folders) {
  CurveRuns result;
  std::vector<CurveRun> runs;
  for (const std::string& folder : folders) {
    for (const std::filesystem::path& run : runs_in(folder, result.notes))
      runs.push_back(described_run(run));
  }
  std::vector<std::string> names;
  for (const CurveRun& run : runs) names.push_back(run.name);
  names = visualise::without_sweep(std::move(names));
  // By name and settings; a seed, or a fold of it, that comes again begins a group of its own.
  std::vector<std::set<std::string>> draws;
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::size_t g = 0;
    while (g < result.groups.size() &&
           !(result.groups[g].name == names[i] && settings[g] == runs[i].draw.settings &&
             !draws[g].contains(runs[i].draw.draw)))
      ++g;
    if (g == result.groups.size()) {
      result.groups.push_back({names[i], {}});
      draws.emplace_back();
      settings.push_back(runs[i].draw.settings);
    }
    result.groups[g].runs.push_back({names[i], runs[i].folder, runs[i].metrics});
    draws[g].insert(runs[i].draw.draw);
  }
  std::multiset<std::string> used;
  for (const visualise::SeedRuns& group : result.groups) used.insert(group.name);
  for (visualise::SeedRuns& group : result.groups) {
    if (used.count(group.name) > 1)
      group.name += fmt::format(" ({})", group.runs.front().folder.filename().string());
  }
  return result;
}

}  // namespace fovea::experiment
