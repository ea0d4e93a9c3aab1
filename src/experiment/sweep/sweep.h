// Running the jobs of an ablation, each as a child process, so that a crash of one cannot hurt the
// others. What is finished is skipped, what was killed goes on from its checkpoint, what failed is
// listed; running the same sweep again does only what is missing. Any number of sweeps may work in
// one folder, on any machines that share it: each claims the jobs that it runs. Files:
// run_folder.h.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/claim.h"
#include "experiment/run/process.h"
#include "experiment/sweep/ablation.h"

namespace fovea::experiment {

/// Part `index` of `count`, from 1: jobs whose number in the plan is index - 1 modulo count.
struct Shard {
  std::int64_t index = 1;
  std::int64_t count = 1;
};
/// "2/8". Throws ConfigError.
Shard parse_shard(const std::string& text);

struct SweepOptions {
  std::filesystem::path out;
  /// The training program and arguments in front of ours; it is called as
  /// `<program> CONFIG.json --out RUN_DIR [--resume] --quiet --threads N`.
  std::vector<std::string> program;
  /// The program that scores the cases of a trained fold, empty where nothing has folds; called as
  /// `<scorer> RUN_DIR --split val --no-noise --overlays 0 --quiet --threads N`.
  std::vector<std::string> scorer;
  int jobs = 1;     // child processes at a time
  int threads = 0;  // of all children together; 0 = all cores
  bool fail_fast = false;
  bool retry_failed = false;
  std::vector<std::string> only;    // names or slugs of rows
  std::vector<std::int64_t> seeds;  // empty: all of the ablation
  Shard shard;
  bool wait = true;  // for jobs that others run; else the sweep ends when it can claim none
  io::ClaimTimes claims;
};

/// The jobs of the shard, the rows and the seeds that are asked for. Throws ConfigError for an
/// unknown row.
std::vector<const Job*> chosen_jobs(const Ablation& ablation, const SweepOptions& options);

/// How many of them a sweep would run: neither finished, nor failed and not to be tried again.
int unfinished_jobs(const Ablation& ablation, const SweepOptions& options);

/// Where a sweep stands. `total` counts the chosen jobs.
struct Progress {
  int finished = 0;  // also those that were finished before, or by others
  int failed = 0;
  int running = 0;
  int total = 0;
  std::optional<double> eta_s;  // from the median time of a job; none before the first is known
};

/// What a sweep reports while it runs. All calls come from the thread of run_sweep.
class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  virtual void started(const Job&, bool /*resumed*/, const Progress&) {}
  virtual void finished(const Job&, double /*seconds*/, const Progress&) {}
  virtual void failed(const Job&, const std::string& /*message*/, const Progress&) {}
  /// There is nothing to do but wait for this job, which `holder` runs: another sweep, or a child
  /// of one that was killed.
  virtual void waiting(const Job&, const std::string& /*holder*/) {}
  /// While this process gave no sign of life another has taken the job over. Its child is killed.
  virtual void lost(const Job&) {}
  /// The signal was passed on to the children, which now save and end.
  virtual void stopping(int /*signal*/, int /*children*/) {}
};

struct FailedJob {
  std::string id;
  std::string message;  // last line of stderr, or how it ended
};

struct SweepOutcome {
  Progress progress;
  int skipped = 0;                // finished before, or by others
  std::vector<FailedJob> failed;  // now, or earlier and not tried again
  int not_started = 0;            // because of fail_fast
  int elsewhere = 0;              // run by others when this sweep ended: without `wait`
  int interrupted = 0;            // ended by themselves to be resumed (exit status 75)
};

/// The exit status of a program that was asked to stop and can be resumed (EX_TEMPFAIL).
inline constexpr int kExitInterrupted = 75;

/// Runs what is missing, and rewrites the results after every job. A failure is part of the
/// outcome; with fail_fast no job is started after it and the running ones are asked to save and
/// end. SIGINT, SIGTERM and SIGUSR1 are passed on to the children each time they come, to ranks as
/// SIGUSR1; when all have ended, Interrupted says how far the sweep came. Throws ConfigError if the
/// folder holds something else, or others work in it on another ablation, FileError if it cannot be
/// written.
SweepOutcome run_sweep(const Ablation& ablation, const SweepOptions& options,
                       SweepObserver& observer, StopSignals& signals);

}  // namespace fovea::experiment
