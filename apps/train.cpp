// train: trains the network of an experiment file.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <optional>

#include "backend/devices.h"
#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "common/load.h"
#include "common/ranks.h"
#include "common/weights_flags.h"
#include "experiment/costs/machine_memory.h"
#include "experiment/run/preflight.h"
#include "experiment/run/runner.h"
#include "experiment/run/summary.h"
#include "experiment/tables/row_errors.h"
#include "parallel/launched.h"
#include "parallel/mpi/mpi.h"
#include "parallel/nccl/nccl.h"
#include "parallel/ranks.h"
#include "schema/load.h"
#include "visualise/plots/curves.h"

namespace {

using namespace fovea;

struct Arguments {
  std::string experiment;
  std::string out;
  std::vector<std::string> overrides;
  std::string device;
  int threads = 0;
  bool resume = false;
  std::int64_t extend = 0;
  bool dry_run = false;
  std::int64_t overfit = 0;
  training::ForeignWeights init;
  std::vector<std::string> init_ignore;
};

// Everything that is wrong with an experiment, a line each, before its data fill the memory or its
// first step is made. True if nothing is.
bool looks_right(const schema::Value& config, std::int64_t overfit, std::ostream& errors_to) {
  if (overfit > 0) return true;  // a few samples, evaluated on themselves: the run itself tells
  try {
    experiment::check_experiment(config, experiment::machine_memory());
    return true;
  } catch (const experiment::RowErrors& errors) {
    for (const std::string& line : errors.lines()) errors_to << fmt::format("train: {}\n", line);
    return false;
  }
}

// The experiment file, or, to resume without one, what the run was started with.
schema::Value configuration(const Arguments& args) {
  if (!args.experiment.empty()) {
    FOVEA_CHECK(args.extend == 0, ConfigError,
                fmt::format("--extend: the run in --out keeps its configuration; remove {}",
                            args.experiment));
    auto overrides = args.overrides;
    if (!args.device.empty()) overrides.push_back("train.device=" + args.device);
    return apps::load_experiment("train", args.experiment, overrides);
  }
  FOVEA_CHECK((args.resume || args.extend > 0) && !args.out.empty(), ConfigError,
              "no experiment file given; see fovea train --help");
  FOVEA_CHECK(args.overrides.empty(), ConfigError,
              "--set: a resumed run keeps its configuration; remove --set");
  schema::Value config = experiment::load_config(args.out);
  if (!args.device.empty()) schema::set_path(config, "train.device", args.device);
  return config;
}

// Nothing unless --init is given.
std::optional<training::ForeignWeights> initial_weights(const Arguments& args) {
  if (args.init.file.empty()) return std::nullopt;
  training::ForeignWeights init = args.init;
  init.options = {args.init_ignore, args.init_ignore, "--init-ignore", "--init-ignore"};
  return init;
}

void report_init(const training::ForeignWeights& from, const nn::LoadReport& report) {
  const std::string random = training::random_text(training::to_value(report));
  fmt::print(stderr, "{}: {} of {} tensors{}\n", from.file.string(), report.loaded, report.tensors,
             random.empty() ? "" : "; " + random);
}

void report(const training::DryRun& dry, bool json) {
  if (json) {
    schema::Value files = schema::Value::array();
    const schema::Value rates =
        schema::Value::object({{"first", dry.rates.first},
                               {"first_epoch_end", dry.rates.first_epoch_end},
                               {"highest", dry.rates.highest},
                               {"highest_step", dry.rates.highest_step},
                               {"last", dry.rates.last},
                               {"zero_steps", dry.rates.zero_steps}});
    for (const std::string& file : dry.files) files.push_back(file);
    schema::Value notes = schema::Value::array();
    for (const std::string& note : dry.notes) notes.push_back(note);
    fmt::print("{}\n", schema::Value::object({{"parameters", dry.parameters},
                                              {"steps_per_epoch", dry.steps_per_epoch},
                                              {"total_steps", dry.total_steps},
                                              {"loss", dry.loss},
                                              {"grad_norm", dry.grad_norm},
                                              {"step_s", dry.step_s},
                                              {"peak_bytes", dry.peak_bytes},
                                              {"lr", rates},
                                              {"weights", dry.weights},
                                              {"notes", notes},
                                              {"files", files}})
                           .dump());
    return;
  }
  std::string notes;
  for (const std::string& note : dry.notes) notes += note + "\n";
  fmt::print(
      "parameters   {}\nsteps        {} ({} an epoch)\nlr           {}\nfirst loss   {:.4f}\nfirst "
      "norm   {:.4f}\n"
      "one step     {:.0f} ms\npeak memory  {}\nreports      {}\n{}would write\n",
      experiment::count_text(dry.parameters), dry.total_steps, dry.steps_per_epoch, dry.rates_text,
      dry.loss, dry.grad_norm, 1e3 * dry.step_s, experiment::bytes_text(dry.peak_bytes),
      dry.weights, notes);
  for (const std::string& file : dry.files) fmt::print("  {}\n", file);
}

void report(const schema::Value& summary, const std::vector<metrics::MetricInfo>& known,
            const std::string& out) {
  if (const schema::Value* init = summary.find("init");
      init != nullptr && summary.at("steps").as_int() == 0) {
    const std::string random = training::random_text(*init);
    if (!random.empty()) fmt::print("{}\n", random);
  }
  for (const auto& split : summary.at("metrics").members()) {
    std::string line = fmt::format("{:<6}", split.key);
    for (const auto& metric : split.value.members()) {
      if (training::is_note(metric.key)) continue;
      const metrics::MetricInfo* info = metrics::find_metric(known, metric.key);
      if (info != nullptr && metrics::is_of_classes(*info)) continue;  // one a class; eval has them
      line += fmt::format(
          "  {} {}{}", metric.key,
          metrics::value_text(info != nullptr ? *info : metrics::MetricInfo{},
                              metric.value.is_null() ? std::nan("") : metric.value.as_double()),
          metrics::coverage_text(training::coverage_in(split.value, metric.key)));
    }
    fmt::print("{}\n", line);
  }
  if (const std::int64_t left_out = summary.at("skipped_samples").as_int(); left_out > 0)
    fmt::print("left out: {} that could not be read (dataset.on_bad_sample)\n",
               left_out == 1 ? "one sample" : fmt::format("{} samples", left_out));
  fmt::print("{}\nrun    {}\n", training::weights_text(summary), out);
}

// Each rank of a machine has a card of its own there, where the experiment names none.
Device own_card(const schema::Value& config, int threads) {
  const schema::Value& train = config.at("train");
  std::int64_t cards = 0;
  for (const DeviceInfo& device : list_devices()) cards += device.type == DeviceType::kCuda ? 1 : 0;
  const std::int64_t card = parallel::launched_local_rank() % std::max<std::int64_t>(1, cards);
  return make_device(card == 0 ? "cuda" : fmt::format("cuda:{}", card),
                     {.threads = threads,
                      .allow_tf32 = train.at("allow_tf32").as_bool(),
                      .batch_invariant = train.at("batch_invariant").as_bool()});
}

// The first rank alone speaks and writes.
int train(Arguments& args, const apps::Common& common, parallel::Ranks& ranks) {
  apps::install_stop_handlers("train", !ranks.first());
  const bool quiet = common.quiet || !ranks.first();
  const schema::Value config = configuration(args);
  if (args.out.empty())
    args.out = experiment::default_folder("runs", config.at("name").as_string()).string();
  args.out = ranks.from_first(args.out);
  std::ofstream nowhere;
  std::ostream& errors_to = ranks.first() ? static_cast<std::ostream&>(std::cerr) : nowhere;
  if (args.dry_run && !looks_right(config, args.overfit, errors_to)) return apps::kUsageError;
  training::StreamProgress progress(quiet ? static_cast<std::ostream&>(nowhere) : std::cerr,
                                    !quiet && apps::stderr_is_terminal(), apps::terminal_columns);
  experiment::RunOptions options;
  options.folder = args.out;
  options.resume = args.resume || args.extend > 0;
  options.extend = args.extend;
  options.threads = args.threads;
  options.overfit = args.overfit;
  options.init = initial_weights(args);
  options.ranks = &ranks;
  if (!ranks.alone() && config.at("train").at("device").as_string() == "cuda")
    options.device = own_card(config, args.threads);
  options.progress = &progress;
  options.stop = &apps::stop_requested();
  experiment::Run run(config, options);
  if (run.init() && !quiet) report_init(args.init, *run.init());
  if (args.dry_run) {
    const training::DryRun dry = run.dry_run();
    if (ranks.first()) report(dry, common.json);
    return 0;
  }
  apps::begin_work();
  const schema::Value summary = run.train();
  if (!ranks.first()) return 0;
  const std::vector<metrics::MetricInfo> measured = experiment::metrics_of(run.experiment());
  visualise::write_curves(options.folder / "curves.png", {{"", {{"", options.folder, measured}}}});
  if (common.json) {
    fmt::print("{}\n", summary.dump());
  } else {
    report(summary, measured, args.out);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "train",
      "Trains the network of an experiment file.\n\n"
      "Example: fovea train experiments/smoke/dgvit.json --out runs/dgvit --set train.epochs=2\n"
      "         fovea train --resume --out runs/dgvit\n"
      "         fovea train --extend 2 --out runs/dgvit\n");
  Arguments args;
  apps::Options cli = program.options();
  cli.add_option("EXPERIMENT", args.experiment, "experiment file; not needed with --resume")
      .value("EXPERIMENT");
  cli.add_option("-o,--out", args.out, "folder of the run (default: runs/<name>)").value("FOLDER");
  program.add_overrides(args.overrides);
  cli.add_flag("--resume", args.resume, "continue the run in --out");
  cli.add_option("--extend", args.extend,
                 "go on with the finished run in --out for so many epochs more")
      .value("EPOCHS")
      .positive();
  cli.add_flag("--dry-run", args.dry_run,
               "check everything, then one step without an update; write nothing");
  cli.add_option("--overfit", args.overfit,
                 "train and evaluate on this many samples; nothing is selected")
      .positive();
  cli.add_option(
         "--init", args.init.file,
         "initial weights: a safetensors file, the folder of a run, or a checkpoint such as "
         "runs/a/checkpoints/best")
      .value("FILE");
  cli.add_option("--init-ignore", args.init_ignore,
                 "names that are not taken from it and begin with random numbers, e.g. head.*")
      .value("PATTERN");
  apps::add_renaming_flags(cli, args.init);
  cli.add_option("--device", args.device, "where it computes").value("cpu|opencl|cuda");
  cli.add_option("--threads", args.threads, "threads (0: all cores); results do not depend on it")
      .range(0, 1024);
  program.add_verbosity();
  program.add_json();
  parallel::Ranks ranks;
  program.on_failure(
      [&](const auto& say, int code) { return apps::end_of_rank(ranks, say, code); });
  apps::OneSpeaks one_speaks(parallel::launched_rank());  // of a wrong option
  const int code = program.run(argc, argv, [&] {
    one_speaks.end();
    ranks = parallel::Ranks(parallel::join());
    ranks.set_links(parallel::open_nccl);
    const int trained = train(args, program.common, ranks);
    ranks.meet();
    ranks.leave();
    return trained;
  });
  if (code != 0) one_speaks.failed();
  return code;
}
