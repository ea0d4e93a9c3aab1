// Stand-ins for `train` and `eval`, and a folder to run sweeps of them in.
#pragma once

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "experiment/sweep/sweep.h"
#include "tests/experiment/fixture.h"

namespace fovea::experiment::test {

namespace fs = io::fs;

// A stand-in for `train`. The mode of the experiment says what it does; `calls` gets one line each.
inline const char* const kTrain = R"sh(#!/bin/sh
here=$(dirname "$0")
config=$1; shift
resume=no
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift ;;
    --threads) threads=$2; shift ;;
    --resume) resume=yes ;;
    --quiet) ;;
    *) echo "unknown flag $1" >&2; exit 2 ;;
  esac
  shift
done
id=$(basename "$out")
mode=$(sed -n 's/.*"mode": "\([a-z_]*\)".*/\1/p' "$config")
echo "${id%-*} resume=$resume threads=$threads" >> "$here/calls"
if [ -e "$out" ] && [ $resume = no ]; then echo "$out: exists" >&2; exit 2; fi
mkdir -p "$out"
cp "$config" "$out/config.json"
save() { mkdir -p "$out/checkpoints/last"; }
case $mode in
  fail) [ -e "$here/repaired" ] || { echo "step 7:" >&2; echo "loss is nan" >&2; exit 1; } ;;
  die) kill -9 $$ ;;
  silent) exit 0 ;;
  tempfail) [ $resume = yes ] || { save; exit 75; } ;;
  pair)  # ends only when two of them run at once
    touch "$here/pair-$$"
    n=0
    while [ "$(ls "$here" | grep -c '^pair-')" -lt 2 ]; do
      n=$((n + 1)); [ $n -lt 500 ] || { echo "alone" >&2; exit 1; }
      sleep 0.01
    done ;;
  wait)  # saves and ends when asked to; a resumed run ends at once
    if [ $resume = no ]; then
      trap 'save; touch "$here/saved"; exit 75' TERM INT USR1
      touch "$here/waiting"
      n=0
      while [ $n -lt 1000 ]; do n=$((n + 1)); sleep 0.01; done
      exit 1
    fi ;;
esac
echo '{"metrics": {"test": {"top1": 50.5}}, "parameters": 7, "time_s": 4}' > "$out/summary.json"
)sh";

// A stand-in for `eval` that fails while there is a file `blind`.
inline const char* const kEval = R"sh(#!/bin/sh
here=$(dirname "$0")
echo "$(basename "${1%-*}") $2 $3 $4 $5 $6 $7 $8 $9" >> "$here/scored"
[ ! -e "$here/blind" ] || { echo "cannot see" >&2; exit 1; }
mkdir -p "$1/eval/val"
echo '{}' > "$1/eval/val/results.json"
)sh";

struct Log : SweepObserver {
  std::string text;
  static std::string name(const Job& job) { return job.id.substr(0, job.id.rfind('-')); }
  static std::string counts(const Progress& p) {
    return std::to_string(p.finished) + "/" + std::to_string(p.total);
  }
  void started(const Job& job, bool resumed, const Progress&) override {
    text += (resumed ? "resume " : "start ") + name(job) + "\n";
  }
  void finished(const Job& job, double, const Progress& p) override {
    text += "finish " + name(job) + " " + counts(p) + "\n";
  }
  void failed(const Job& job, const std::string& message, const Progress&) override {
    text += "fail " + name(job) + ": " + message + "\n";
  }
  void waiting(const Job& job, const std::string& holder) override {
    text += "wait " + name(job) + ": " + holder + "\n";
  }
  void lost(const Job& job) override { text += "lose " + name(job) + "\n"; }
  void stopping(int, int children) override { text += "stop " + std::to_string(children) + "\n"; }
};

class Bench {
 public:
  explicit Bench(const std::string& name) : folder_("sweep_" + name) {
    write("train", kTrain);
    ::chmod("train", 0755);
    options.out = "out";
    options.program = {(fs::current_path() / "train").string()};
    write("eval", kEval);
    ::chmod("eval", 0755);
    options.scorer = {(fs::current_path() / "eval").string()};
    options.threads = 4;
  }

  Ablation ablation(const std::string& rows, const std::string& seeds = "[0]") {
    write("a.json",
          R"({"name": "a", "base": {}, "seeds": )" + seeds + R"(, "rows": [)" + rows + "]}");
    return load_ablation("a.json", kind());
  }

  SweepOutcome run(const Ablation& ablation) {
    log.text.clear();
    StopSignals signals;
    return run_sweep(ablation, options, log, signals);
  }

  std::string calls() {
    std::error_code code;
    return fs::exists("calls", code) ? io::read_text("calls") : "";
  }

  SweepOptions options;
  Log log;

 private:
  Folder folder_;
};

// Polls, since the other side is another process; false after 10 s.
inline bool happens(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline bool there(const fs::path& path) {
  std::error_code code;
  return fs::exists(path, code);
}

// Runs the sweep in a process of its own; its exit status is 0, or 9 if it was interrupted.
inline pid_t run_apart(Bench& bench, const Ablation& ablation) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::signal(SIGINT, SIG_IGN);  // as in the background jobs of a shell
  int status = 0;
  try {
    bench.run(ablation);
  } catch (const Interrupted& error) {
    io::write_atomic("interrupted", error.what());
    status = 9;
  } catch (...) {
    status = 1;
  }
  ::_exit(status);
}

inline int status_of_child(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Of all jobs.
inline std::vector<JobStatus> survey_all(const Ablation& ablation, const fs::path& out = "out") {
  return survey(ablation, out, chosen_jobs(ablation, {}));
}

}  // namespace fovea::experiment::test
