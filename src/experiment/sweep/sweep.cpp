#include "experiment/sweep/sweep.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/cores.h"
#include "base/error.h"
#include "base/file.h"
#include "base/holder.h"
#include "experiment/run/run_folder.h"
#include "experiment/sweep/job_list.h"
#include "experiment/sweep/sweep_folder.h"
#include "experiment/tables/results.h"
#include "schema/json/parse.h"
#include "training/store/checkpoint.h"
#include "training/store/run_lock.h"
#include "training/trainer.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{100};  // how long a signal may wait behind other work
constexpr std::chrono::milliseconds kLook{500};  // until jobs of others are looked at again

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Sweep {
 public:
  Sweep(const Ablation& ablation, const SweepOptions& options, SweepObserver& observer,
        StopSignals& signals)
      : ablation_(ablation),
        options_(options),
        observer_(observer),
        signals_(signals),
        watch_(options.claims) {
    const int cores = options.threads > 0 ? options.threads : usable_cores();
    threads_ = std::max(1, cores / options.jobs);
  }

  SweepOutcome run() {
    choose();
    try {
      while (step()) {
      }
    } catch (...) {
      // The children would go on without anybody to report to.
      forward(SIGTERM);
      while (!running_.empty()) collect(true);
      throw;
    }
    const int left = static_cast<int>(pending_.size());
    (stopping_ ? outcome_.not_started : outcome_.elsewhere) = left;
    tidy_folder(options_.out, watch_);
    update_results(ablation_, options_.out);
    outcome_.progress = progress();
    if (signal_ != 0) report_interrupt();
    return std::move(outcome_);
  }

 private:
  struct Running {
    const Job* job;
    io::Claim claim;
    Clock::time_point start;
    bool resumed;
    bool scoring;       // the cases of a trained fold
    bool lost = false;  // another process has taken it over
  };

  void choose() {
    for (const Job* job : chosen_jobs(ablation_, options_)) {
      ++total_;
      std::error_code code;
      if (options_.retry_failed)
        failed_before_[job->id] = fs::last_write_time(paths_of(options_.out, *job).failed, code);
      if (!settle(*job)) pending_.push_back(job);
    }
  }

  // Whether a failed job is not to be tried again: none is, or another process has just tried.
  bool stays_failed(const Job& job) const {
    std::error_code code;
    return !options_.retry_failed || fs::last_write_time(paths_of(options_.out, job).failed,
                                                         code) != failed_before_.at(job.id);
  }

  // Counts a job that needs no run: finished, or failed and not to be tried again.
  bool settle(const Job& job) {
    const JobStatus status = status_of(ablation_, options_.out, job);
    if (status.state == JobState::kFinished) {
      ++finished_;
      ++outcome_.skipped;
      const auto time = read_summary(paths_of(options_.out, job).run).time_s;
      if (time) earlier_seconds_.push_back(*time);
      return true;
    }
    if (status.state != JobState::kFailed || !stays_failed(job)) return false;
    outcome_.failed.push_back({job.id, status.message});
    return true;
  }

  // False when there is nothing more to do.
  bool step() {
    stop_lost();
    if (!stopping_) start_jobs();
    const bool may_wait = options_.wait && !pending_.empty() && !stopping_;
    if (running_.empty() && !may_wait) return false;
    if (const auto signal = signals_.wait(kPoll); signal && *signal != SIGCHLD) {
      stop(*signal);
    }
    collect(false);
    return true;
  }

  void stop(int signal) {
    const auto now = Clock::now();
    if (signal_ != 0 && signal != SIGINT && now - signalled_ < kSameRequest) return;
    signal_ = signal;
    signalled_ = now;
    stopping_ = true;
    observer_.stopping(signal, static_cast<int>(running_.size()));
    forward(signal);
  }

  void start_jobs() {
    if (Clock::now() < next_look_) return;
    for (std::size_t i = 0; i < pending_.size();) {
      if (static_cast<int>(running_.size()) >= options_.jobs) return;
      const Job& job = *pending_[i];
      auto claim = try_claim(job);
      if (!claim) {
        ++i;
        continue;
      }
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
      // Whoever had it before may have finished it.
      if (!settle(job)) start(job, std::move(*claim));
    }
    next_look_ = Clock::now() + kLook;
    if (running_.empty() && options_.wait) tell_waiting();
  }

  // Nothing while another process runs the job, or still writes to its run.
  std::optional<io::Claim> try_claim(const Job& job) {
    const JobPaths paths = paths_of(options_.out, job);
    const auto held = look_at(paths, watch_);
    if (held && !held->gone) return std::nullopt;
    auto claim = watch_.take(paths.claim);
    const fs::path run_lock = training::run_lock_of(paths.run);
    // What a program that is gone has left there goes, too: taken, and released.
    if (claim && io::exists_at_all(run_lock) && !watch_.take(run_lock)) return std::nullopt;
    return claim;
  }

  void tell_waiting() {
    for (const Job* job : pending_) {
      const auto held = look_at(paths_of(options_.out, *job), watch_);
      if (held && !held->gone && waited_.insert(job->id).second)
        observer_.waiting(*job, described(*held));
    }
  }

  // A child whose job is another's now must not write to it.
  void stop_lost() {
    for (auto& [child, run] : running_) {
      if (run.lost || !run.claim.lost()) continue;
      run.lost = true;
      ::kill(-child, SIGKILL);
    }
  }

  void start(const Job& job, io::Claim claim) {
    const JobPaths paths = paths_of(options_.out, job);
    std::error_code code;
    if (job.fold && is_trained(ablation_, options_.out, job)) {
      score({&job, std::move(claim), Clock::now(), true, true});
      observer_.started(job, true, progress());
      return;
    }
    // Also where only the logs are left: `train` then says so, and nothing is begun again silently.
    // A run in which nothing was trained is: its data may have been mended since.
    const bool resumed =
        !training::is_untrained(paths.run) && (training::CheckpointStore(paths.run).any() ||
                                               fs::exists(paths.run / "metrics.jsonl", code));
    if (resumed && !has_sound_config(job, paths)) return;
    // Otherwise there is nothing to go on from, and `train` refuses an existing folder.
    if (!resumed && fs::exists(paths.run, code)) io::remove_all(paths.run);
    if (fs::exists(paths.failed, code)) io::remove_all(paths.failed);
    io::write_atomic(paths.config, job.config.dump() + "\n");
    std::vector<std::string> command = options_.program;
    command.insert(command.end(), {paths.config.string(), "--out", paths.run.string()});
    if (resumed) command.push_back("--resume");
    command.insert(command.end(), {"--quiet", "--threads", std::to_string(threads_)});
    const pid_t child = start_process(command, paths.out, paths.err, claim.descriptor(), signals_);
    running_.emplace(child, Running{&job, std::move(claim), Clock::now(), resumed, false});
    observer_.started(job, resumed, progress());
  }

  void score(Running run) {
    const JobPaths paths = paths_of(options_.out, *run.job);
    std::error_code code;
    if (fs::exists(paths.failed, code)) io::remove_all(paths.failed);
    std::vector<std::string> command = options_.scorer;
    command.insert(command.end(), {paths.run.string(), "--split", "val", "--no-noise", "--overlays",
                                   "0", "--quiet", "--threads", std::to_string(threads_)});
    run.scoring = true;
    const pid_t child =
        start_process(command, paths.out, paths.err, run.claim.descriptor(), signals_);
    running_.emplace(child, std::move(run));
  }

  // A run cannot go on from a config.json that is damaged; its checkpoint has a copy, so the file
  // may go.
  bool has_sound_config(const Job& job, const JobPaths& paths) {
    const fs::path config = paths.run / "config.json";
    std::error_code code;
    if (!fs::exists(config, code)) return true;
    try {
      schema::parse(io::read_text(config), config.string());
      return true;
    } catch (const Error& error) {
      fail_job(job, paths,
               fmt::format("{}; the file is damaged: remove it and run ablate again with "
                           "--retry-failed; the job then goes on from its checkpoint",
                           error.what()));
      return false;
    }
  }

  void forward(int signal) {
    for (const auto& [child, run] : running_) {
      if (options_.program.size() == 1 || run.scoring) {
        ::kill(child, signal);
      } else {
        ask_ranks(child, run);
      }
    }
  }

  // mpirun keeps SIGUSR1 to itself (OpenMPI 4.1), and kills its ranks soon after SIGTERM; srun
  // passes SIGUSR1 on. So the rank that holds the run is asked, where it is on this machine; it
  // tells the others. Before it holds the run there is nothing to be saved.
  void ask_ranks(pid_t launcher, const Running& run) {
    const auto rank = watch_.look(training::run_lock_of(paths_of(options_.out, *run.job).run));
    const bool here = rank && rank->existence == Existence::kAlive &&
                      rank->holder.host == host_name() && !has_ended(rank->holder);
    ::kill(here ? static_cast<pid_t>(rank->holder.process) : launcher, rank ? SIGUSR1 : SIGTERM);
  }

  // Takes note of children that have ended.
  void collect(bool quietly) {
    std::vector<pid_t> children;
    for (const auto& [child, run] : running_) children.push_back(child);
    while (const auto ended = reap(children)) {
      children.erase(std::find(children.begin(), children.end(), ended->first));
      const auto at = running_.find(ended->first);
      Running run = std::move(at->second);
      running_.erase(at);
      next_look_ = {};
      if (!quietly) note_end(std::move(run), ended->second);
    }
    if (quietly && !running_.empty()) signals_.wait(kPoll);
  }

  void note_end(Running run, const Exit& exit) {
    const Job& job = *run.job;
    if (run.lost || !run.claim.held()) {
      pending_.push_back(&job);
      observer_.lost(job);
      return;
    }
    const bool trained = !run.scoring && job.fold && exit.ok();
    if (trained && is_trained(ablation_, options_.out, job)) {
      if (stopping_) {
        ++outcome_.interrupted;
      } else {
        score(std::move(run));
      }
      return;
    }
    const JobPaths paths = paths_of(options_.out, job);
    if (exit.ok() && status_of(ablation_, options_.out, job).state == JobState::kFinished) {
      const double seconds = seconds_since(run.start);
      if (!run.resumed) seconds_.push_back(seconds);
      ++finished_;
      update_results(ablation_, options_.out);
      observer_.finished(job, seconds, progress());
    } else if (was_interrupted(exit)) {
      ++outcome_.interrupted;
    } else {
      note_failure(run, paths, exit);
    }
  }

  bool was_interrupted(const Exit& exit) const {
    if (exit.signal == 0 && exit.code == kExitInterrupted) return true;
    const int signal = exit.signal != 0 ? exit.signal : exit.code - 128;
    return stopping_ && (signal == SIGINT || signal == SIGTERM || signal == SIGUSR1);
  }

  void note_failure(const Running& run, const JobPaths& paths, const Exit& exit) {
    const Job& job = *run.job;
    std::string message;
    if (exit.ok() && run.scoring) {
      message =
          fmt::format("{}: missing, although the program reported success", paths.cases.string());
    } else if (exit.ok()) {
      message = fmt::format(
          "{}: missing, damaged, or of another configuration, although the "
          "program reported success",
          (paths.run / "summary.json").string());
    } else {
      message = exit.signal == 0 ? last_line(paths.err) : std::string();
      if (message.empty()) message = to_string(exit);
    }
    // A killed job is resumed next time; one that ended with an error would fail again.
    if (exit.signal == 0) return fail_job(job, paths, message);
    report_failure(job, message);
  }

  void fail_job(const Job& job, const JobPaths& paths, const std::string& message) {
    io::write_atomic(paths.failed, message + "\n");
    report_failure(job, message);
  }

  void report_failure(const Job& job, const std::string& message) {
    outcome_.failed.push_back({job.id, message});
    observer_.failed(job, message, progress());
    if (options_.fail_fast && !stopping_) {
      stopping_ = true;
      observer_.stopping(SIGTERM, static_cast<int>(running_.size()));
      forward(SIGTERM);
    }
  }

  Progress progress() const {
    Progress progress;
    progress.finished = finished_;
    progress.failed = static_cast<int>(outcome_.failed.size());
    progress.running = static_cast<int>(running_.size());
    progress.total = total_;
    const auto& known = seconds_.empty() ? earlier_seconds_ : seconds_;
    if (!known.empty()) {
      const double job = metrics::median(known);
      double work = job * static_cast<double>(pending_.size());
      for (const auto& [child, run] : running_)
        work += std::max(0.0, job - seconds_since(run.start));
      const auto left = static_cast<int>(pending_.size() + running_.size());
      progress.eta_s = work / std::max(1, std::min(options_.jobs, left));
    }
    return progress;
  }

  [[noreturn]] void report_interrupt() const {
    throw Interrupted(fmt::format(
        "stopped by {} signal: {} of {} jobs finished, {} saved to go on from, {} failed; run the "
        "same command again to continue",
        ::strsignal(signal_), finished_, total_, outcome_.interrupted, outcome_.failed.size()));
  }

  const Ablation& ablation_;
  const SweepOptions& options_;
  SweepObserver& observer_;
  StopSignals& signals_;
  int threads_ = 1;
  int total_ = 0;
  int finished_ = 0;
  bool stopping_ = false;
  int signal_ = 0;
  Clock::time_point signalled_{};
  std::vector<const Job*> pending_;
  std::set<std::string> waited_;
  std::map<std::string, fs::file_time_type> failed_before_;  // with retry_failed
  io::ClaimWatch watch_;
  Clock::time_point next_look_{};
  std::map<pid_t, Running> running_;
  std::vector<double> seconds_, earlier_seconds_;
  SweepOutcome outcome_;
};

}  // namespace

Shard parse_shard(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, first] = std::from_chars(text.data(), end, shard.index);
  const bool has_slash = first == std::errc() && slash != end && *slash == '/';
  const auto [rest, second] = std::from_chars(has_slash ? slash + 1 : end, end, shard.count);
  FOVEA_CHECK(has_slash && second == std::errc() && rest == end && shard.index >= 1 &&
                  shard.index <= shard.count,
              ConfigError,
              fmt::format("--shard {}: expected i/n with 1 <= i <= n, such as 2/8", text));
  return shard;
}

std::vector<const Job*> chosen_jobs(const Ablation& ablation, const SweepOptions& options) {
  const std::vector<std::size_t> rows = find_rows(ablation, options.only);
  std::vector<const Job*> jobs;
  std::int64_t number = 0;
  for (const Job& job : ablation.jobs) {
    const bool ours = number++ % options.shard.count == options.shard.index - 1;
    const bool chosen = rows.empty() || std::binary_search(rows.begin(), rows.end(), job.row);
    const bool seeded =
        options.seeds.empty() ||
        std::find(options.seeds.begin(), options.seeds.end(), job.seed) != options.seeds.end();
    if (ours && chosen && seeded) jobs.push_back(&job);
  }
  return jobs;
}

int unfinished_jobs(const Ablation& ablation, const SweepOptions& options) {
  const std::vector<const Job*> jobs = chosen_jobs(ablation, options);
  return static_cast<int>(std::count_if(jobs.begin(), jobs.end(), [&](const Job* job) {
    const JobState state = status_of(ablation, options.out, *job).state;
    return state != JobState::kFinished && (state != JobState::kFailed || options.retry_failed);
  }));
}

SweepOutcome run_sweep(const Ablation& ablation, const SweepOptions& options,
                       SweepObserver& observer, StopSignals& signals) {
  FOVEA_CHECK(options.jobs >= 1, ConfigError,
              fmt::format("--jobs is {}; expected at least 1", options.jobs));
  FOVEA_CHECK(options.shard.index >= 1 && options.shard.index <= options.shard.count, ConfigError,
              fmt::format("--shard {}/{}: expected i/n with 1 <= i <= n", options.shard.index,
                          options.shard.count));
  FOVEA_CHECK(!options.program.empty(), ConfigError, "ablate: no training program given");
  FOVEA_CHECK(ablation.folds == 0 || !options.scorer.empty(), ConfigError,
              "ablate: no program given that scores the cases of folds");
  find_rows(ablation, options.only);  // complains before anything is written
  io::make_directories(options.out);
  open_sweep_folder(ablation, options.out);
  return Sweep(ablation, options, observer, signals).run();
}

}  // namespace fovea::experiment
