// ablate: trains every row and seed of an ablation file and writes the table.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "common/load.h"
#include "common/programs.h"
#include "experiment/costs/machine_memory.h"
#include "experiment/file/experiment.h"
#include "experiment/run/preflight.h"
#include "experiment/run/run_folder.h"
#include "experiment/sweep/ablation.h"
#include "experiment/sweep/job_list.h"
#include "experiment/sweep/slurm.h"
#include "experiment/sweep/sweep.h"
#include "experiment/tables/results.h"
#include "experiment/tables/row_errors.h"
#include "parallel/launched.h"
#include "training/progress.h"
#include "training/status_line.h"

namespace {

using namespace fovea;

struct Arguments {
  std::string file;
  std::string out;
  experiment::AblationOverrides overrides;
  experiment::SweepOptions sweep;
  std::string shard;
  bool list = false;
  bool check = false;
  bool no_wait = false;
  double takeover_s = 300;
  std::string launcher;
  bool slurm = false;
  std::string slurm_template;
  int slurm_tasks = 100;
  std::vector<std::string> words;  // of the command line
  bool out_given = false;
  bool keep_going = false;
};

class Printer final : public experiment::SweepObserver {
 public:
  explicit Printer(bool quiet) : quiet_(quiet) {}
  void started(const experiment::Job& job, bool resumed, const experiment::Progress& p) override {
    line(p, fmt::format("{} {}", resumed ? "resumed" : "started", job.id));
  }
  void finished(const experiment::Job& job, double seconds,
                const experiment::Progress& p) override {
    line(p, fmt::format("finished {} in {}", job.id, training::duration_text(seconds)));
  }
  void failed(const experiment::Job& job, const std::string& message,
              const experiment::Progress& p) override {
    line(p, fmt::format("failed {}: {}", job.id, message), true);
  }
  void waiting(const experiment::Job& job, const std::string& holder) override {
    if (!quiet_) std::cerr << fmt::format("waiting for {}, which {} runs\n", job.id, holder);
  }
  void lost(const experiment::Job& job) override {
    std::cerr << fmt::format(
        "{} was taken over by another process while this one gave no sign of life; its child here "
        "was stopped\n",
        job.id);
  }
  void stopping(int, int children) override {
    if (!quiet_) std::cerr << fmt::format("stopping: {} jobs save and end\n", children);
  }

 private:
  // On a terminal it takes one line, but for errors; --list prints the whole names.
  void line(const experiment::Progress& p, const std::string& what, bool whole = false) const {
    if (quiet_) return;
    const std::string left = p.eta_s ? ", left " + training::duration_text(*p.eta_s) : "";
    const std::string text = fmt::format(
        "[{}{}] {}", training::count_of_total(p.finished + p.failed, p.total), left, what);
    const bool cut = terminal_ && !whole;
    std::cerr << (cut ? training::cut_to_columns(text, apps::terminal_columns()) : text) << "\n";
  }
  bool quiet_;
  bool terminal_ = apps::stderr_is_terminal();
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// A program beside this one.
std::string program_beside(const char* name) {
  const auto program = apps::program_of(name);
  FOVEA_CHECK(program.has_value(), FileError, apps::not_built(name));
  return program->string();
}

int list_jobs(const experiment::Ablation& ablation, const experiment::SweepOptions& chosen,
              const std::string& out, bool json) {
  const auto jobs = experiment::chosen_jobs(ablation, chosen);
  const auto statuses = experiment::survey(ablation, out, jobs);
  if (json) {
    fmt::print("{}\n", experiment::job_list_value(jobs, statuses).dump());
  } else {
    fmt::print("{}", experiment::job_list_text(jobs, statuses, std::time(nullptr)));
  }
  return 0;
}

int check(const experiment::Ablation& ablation, const std::string& out) {
  const auto differences = experiment::check_results(ablation, out);
  for (const std::string& line : differences) fmt::print("{}\n", line);
  if (differences.empty()) fmt::print("{}: the tables follow from the runs\n", out);
  return differences.empty() ? 0 : apps::kRunTimeError;
}

// The command of a task: this one, without what is about the array.
std::vector<std::string> command_of_task(const Arguments& args) {
  std::vector<std::string> command = {program_beside("ablate")};
  for (std::size_t i = 0; i < args.words.size(); ++i) {
    const std::string& word = args.words[i];
    if (word.starts_with("--slurm=") || word.starts_with("--slurm-tasks=")) continue;
    if (word == "--slurm-tasks") ++i;
    if (word == "--slurm" && !args.slurm_template.empty()) ++i;
    if (word != "--slurm" && word != "--slurm-tasks") command.push_back(word);
  }
  if (!args.no_wait) command.push_back("--no-wait");
  if (!args.out_given) command.insert(command.end(), {"--out", args.out});
  return command;
}

int submit(const Arguments& args, const experiment::Ablation& ablation,
           const apps::Common& common) {
  const int jobs = experiment::unfinished_jobs(ablation, args.sweep);
  if (jobs == 0) {
    fmt::print("{}: nothing is left to do\n", args.out);
    return 0;
  }
  experiment::SlurmArray array;
  array.name = ablation.name;
  array.out = args.out;
  array.working = std::filesystem::current_path();
  array.command = command_of_task(args);
  array.tasks = std::min(args.slurm_tasks, (jobs + args.sweep.jobs - 1) / args.sweep.jobs);
  const std::string& from = args.slurm_template;
  const std::string script = experiment::slurm_script(
      from.empty() ? experiment::standard_slurm_template() : io::read_text(from), from, array);
  const std::filesystem::path file = experiment::write_slurm_script(ablation, args.out, script);
  const std::string job = experiment::submit_to_slurm(file);
  if (common.json) {
    fmt::print(
        "{}\n",
        schema::Value::object(
            {{"slurm", job}, {"tasks", array.tasks}, {"jobs", jobs}, {"script", file.string()}})
            .dump());
  } else {
    fmt::print(
        "job {} of SLURM: {} tasks for {} jobs, as in {}\nwatch it with: squeue --job {}, and: "
        "fovea ablate {} --out {} --list\n",
        job, array.tasks, jobs, file.string(), job, args.file, args.out);
  }
  return 0;
}

int run(Arguments& args, const apps::Common& common) {
  args.out_given = !args.out.empty();
  if (!args.out_given)
    args.out = experiment::default_folder("runs", experiment::ablation_name(args.file)).string();
  const experiment::Ablation ablation = experiment::load_for_folder(
      args.file, experiment::experiment_kind(), args.overrides, args.out);
  apps::print_notes("ablate", ablation.notes);
  args.sweep.seeds = args.overrides.seeds;
  if (!args.shard.empty()) args.sweep.shard = experiment::parse_shard(args.shard);
  if (args.list) return list_jobs(ablation, args.sweep, args.out, common.json);
  if (args.check) return check(ablation, args.out);
  args.sweep.out = args.out;
  args.sweep.wait = !args.no_wait;
  args.sweep.claims.patience =
      std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * args.takeover_s));
  args.sweep.program = words_of(args.launcher);
  args.sweep.program.push_back(program_beside("train"));
  if (ablation.folds > 0) args.sweep.scorer = {program_beside("eval")};
  args.sweep.fail_fast = args.sweep.fail_fast && !args.keep_going;
  const auto rates = experiment::check_sweep(ablation, args.sweep, experiment::machine_memory());
  for (const std::string& line : rates) {
    if (!common.quiet) std::cerr << line << "\n";
  }
  if (args.slurm) return submit(args, ablation, common);
  parallel::forget_launch();
  Printer printer(common.quiet);
  experiment::StopSignals signals;
  const experiment::SweepOutcome outcome =
      experiment::run_sweep(ablation, args.sweep, printer, signals);
  const experiment::Results results = experiment::collect_results(ablation, args.out);
  fmt::print("{}\n", common.json ? experiment::to_json(results) : experiment::to_text(results));
  if (!common.json) fmt::print("written to {}/results.{{json,csv,md,tex}}\n", args.out);
  if (outcome.elsewhere > 0)
    std::cerr << fmt::format("ablate: jobs that others run: {}; see --list\n", outcome.elsewhere);
  for (const experiment::FailedJob& job : outcome.failed) {
    std::cerr << fmt::format("ablate: {} failed: {}\n", job.id, job.message);
  }
  return outcome.failed.empty() ? 0 : apps::kRunTimeError;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "ablate",
      "Trains every row and seed of an ablation file and writes the table. Run again, it does "
      "only what is missing. Before the first row starts, all of them are checked: data, shapes, "
      "names of metrics, memory. Any number of machines that share the folder may work on it at "
      "once.\n\n"
      "Example: fovea ablate experiments/smoke/ablation.json --out runs/smoke --jobs 2\n"
      "         fovea ablate experiments/smoke/ablation.json --out runs/smoke --slurm\n");
  Arguments args;
  apps::Options cli = program.options();
  cli.add_option("FILE", args.file, "ablation file").required().value("EXPERIMENT");
  cli.add_option("-o,--out", args.out, "folder of the sweep (default: runs/<name>)")
      .value("FOLDER");
  cli.add_option("-j,--jobs", args.sweep.jobs, "jobs at a time").range(1, 256);
  cli.add_option("--threads", args.sweep.threads, "threads of all jobs together (0: all cores)")
      .range(0, 1024);
  cli.add_option("--set", args.overrides.set, "override in every row, key=value; repeatable")
      .value("KEY=VALUE");
  cli.add_option("--seeds", args.overrides.seeds,
                 "seeds to run instead of the file's, e.g. 0,1,2; the tables keep other seeds that "
                 "the folder has runs of")
      .commas();
  cli.add_option("--folds", args.overrides.folds,
                 "cross-validation: every row is trained once for each fold, which is its val part "
                 "then, with one seed; metrics of test in the file are taken of val")
      .range(2, 1000);
  cli.add_option(
         "--detect", args.overrides.detect,
         "say how many seeds show this difference in a column, e.g. test_top1=0.5; repeatable")
      .value("COLUMN=DIFFERENCE");
  cli.add_option("--equivalent", args.overrides.equivalent,
                 "test whether rows lie within this margin of the first one, e.g. test_top1=1; "
                 "repeatable")
      .value("COLUMN=MARGIN");
  cli.add_option("--only", args.sweep.only, "only this row; repeatable").value("ROW");
  cli.add_option("--shard", args.shard, "part i of n of the jobs, e.g. 1/4").value("I/N");
  cli.add_flag("--fail-fast", args.sweep.fail_fast, "stop at the first failure");
  cli.add_flag("--keep-going", args.keep_going, "go on after failures (default)");
  cli.add_flag("--retry-failed", args.sweep.retry_failed, "try failed jobs again");
  cli.add_flag("--list", args.list,
               "print the jobs of --only, --shard and --seeds, the state of each and who runs it, "
               "and do nothing");
  cli.add_flag("--check", args.check, "compare the tables with the runs and do nothing");
  cli.add_flag("--no-wait", args.no_wait, "end when every job left is run by others");
  cli.add_option("--takeover-after", args.takeover_s,
                 "take over the jobs of another machine when it has given no sign of life for so "
                 "many seconds (signs come every 5)")
      .range(15.0, 86400.0);
  cli.add_option("--launcher", args.launcher,
                 "words in front of the training program, for jobs of several ranks, e.g. "
                 "\"mpirun -q -n 2\"; each rank gets the threads of a job")
      .value("WORDS");
  const apps::Option slurm =
      cli.add_option("--slurm", args.slurm_template,
                     "submit the jobs to SLURM as an array, whose tasks share them; the script is "
                     "written to the folder of the sweep, from a template where one is given")
          .value("TEMPLATE")
          .optional_value();
  cli.add_option("--slurm-tasks", args.slurm_tasks, "tasks of the array at most; no more than jobs")
      .range(1, 1000);
  program.add_verbosity();
  program.add_json();
  return program.run(argc, argv, [&] {
    try {
      args.slurm = slurm.given();
      args.words = {argv + 1, argv + argc};
      return run(args, program.common);
    } catch (const experiment::RowErrors& errors) {
      for (const std::string& line : errors.lines()) std::cerr << fmt::format("ablate: {}\n", line);
      return apps::kUsageError;
    }
  });
}
