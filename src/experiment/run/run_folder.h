// What the folder of a sweep says about its jobs, and what a finished run measured.
//
//   DIR/ablation.json            names, seeds, rows with overrides and resolved configurations
//   DIR/jobs/<id>.json           the experiment file given to `train`
//   DIR/jobs/<id>.{out,err}      what it printed last time
//   DIR/jobs/<id>.failed         why it failed last time (until it is tried again)
//   DIR/jobs/<id>.claim          who runs the job (base/claim.h)
//   DIR/runs/<id>/               the run folder, made by `train`
//   DIR/runs/<id>/eval/val/      the cases of a fold, scored by `eval`
//   DIR/results.{json,csv,md,tex}
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/claim.h"
#include "experiment/sweep/ablation.h"
#include "experiment/tables/metric_column.h"

namespace fovea::experiment {

struct JobPaths {
  std::filesystem::path config, out, err, failed, claim, run;
  std::filesystem::path cases;  // where `eval` leaves the values of a fold's cases
};
JobPaths paths_of(const std::filesystem::path& sweep, const Job& job);

/// The numbers of a finished run.
struct RunSummary {
  std::map<MetricKey, double> metrics;              // NaN where the run wrote null
  std::map<MetricKey, metrics::Coverage> coverage;  // of those where values are missing
  std::optional<std::int64_t> parameters;
  std::optional<std::int64_t> macs;
  std::optional<std::int64_t> macs_paper;
  std::string macs_size;  // at which both were counted; "" where that is the size of the data
  std::optional<std::int64_t> epochs;
  std::optional<double> time_s;
  std::string program;      // version, commit, compiler and back end that made it; "" if unknown
  std::string data;         // hash of the content of its data; "" if unknown
  std::string selected_on;  // the split that chose the weights; "" for none
  std::string selected_by;  // the metric that chose them; "" for none or unknown
};

/// summary.json of a run folder. Throws FileError or ConfigError if it is missing or malformed.
RunSummary read_summary(const std::filesystem::path& run);

enum class JobState {
  kMissing,   // never started
  kPartial,   // has a checkpoint to resume from, or is trained and its cases are not scored
  kFinished,  // summary.json is valid, and config.json is that of the job; of a fold, its cases are
              // scored, too
  kFailed,    // ended with an error; `message` says which
  kRunning,   // another process holds it
};

struct JobStatus {
  JobState state = JobState::kMissing;
  std::string message;
  /// Who runs it, or has left its claim behind (`gone`); of survey().
  std::optional<io::ClaimSight> held = {};
};

/// Whether the run of a job is trained to the end: summary.json is valid, and config.json is that
/// of the job.
bool is_trained(const Ablation& ablation, const std::filesystem::path& sweep, const Job& job);

/// Looks at the files only; finished wins over failed. Does not look for kRunning.
JobStatus status_of(const Ablation& ablation, const std::filesystem::path& sweep, const Job& job);

/// Gives jobs the names under which the folder already has them: those of an older program, whose
/// configurations had other keys, or of a row that was called otherwise. Runs are recognised by
/// their stored configuration, brought to today's keys.
void recognise_jobs(Ablation& ablation, const std::filesystem::path& sweep);

/// load_ablation() for the folder of a sweep, with recognise_jobs(). Where --seeds asks for some
/// seeds, the tables keep those that the folder has runs of; a cross-validation has only one.
Ablation load_for_folder(const std::filesystem::path& file, const ExperimentKind& kind,
                         const AblationOverrides& overrides, const std::filesystem::path& sweep);

/// Who runs a job: whoever has claimed it, or else its run. Nothing where it is free.
std::optional<io::ClaimSight> look_at(const JobPaths& paths, io::ClaimWatch& watch);

/// status_of() of all these jobs, with kRunning and who runs them. Starts and changes nothing.
std::vector<JobStatus> survey(const Ablation& ablation, const std::filesystem::path& sweep,
                              const std::vector<const Job*>& jobs);

/// "missing", "partial", ...
const char* name_of(JobState state);

/// The last line of a file that is not empty, at most 500 bytes of it; "" if there is none.
std::string last_line(const std::filesystem::path& file);

}  // namespace fovea::experiment
