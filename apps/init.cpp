// init: an experiment file to start from, for a folder of one's own data.

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "experiment/costs/machine_memory.h"
#include "experiment/planning/starting_file.h"
#include "experiment/run/preflight.h"
#include "experiment/run/runner.h"
#include "experiment/run/summary.h"
#include "schema/json/parse.h"

#include <string>
#include <vector>

namespace {

using namespace fovea;

struct Arguments {
  std::string folder;
  std::string out;
  std::string name;
  std::string device = "cpu";
  bool force = false;
};

// What `train --dry-run` does: what is wrong with it would be said then. Throws.
training::DryRun tried(const schema::Value& resolved) {
  experiment::check_experiment(resolved, experiment::machine_memory());
  experiment::RunOptions options;
  experiment::Run run(resolved, options);
  return run.dry_run();
}

std::string minutes(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  return seconds < 5400 ? fmt::format("{:.0f} min", seconds / 60)
                        : fmt::format("{:.1f} h", seconds / 3600);
}

// In quotes where a shell would break it.
std::string word(const std::string& text) {
  return text.find_first_of(" '\"$&()*?;<>|\\") == std::string::npos ? text
                                                                     : fmt::format("'{}'", text);
}

int init(const experiment::StartKind& kind, const Arguments& args, bool quiet) {
  experiment::StartOptions options;
  options.device = args.device;
  options.name = args.name;
  if (apps::stderr_is_terminal() && !quiet) {
    options.progress = [](std::int64_t done, std::int64_t total) {
      fmt::print(stderr, "\r{} of {} samples{}", done, total, done == total ? "\n" : "");
    };
  }
  const experiment::StartingFile file = experiment::starting_file(kind, args.folder, options);
  const io::fs::path out = args.out.empty() ? file.name + ".json" : args.out;
  FOVEA_CHECK(args.force || !io::exists_at_all(out), ConfigError,
              fmt::format("{}: is there already; choose another name with --out, or --force",
                          out.string()));
  const training::DryRun dry = tried(file.resolved);
  io::write_atomic(out, file.text);
  fmt::print("{}: {}; {} steps, about {} on this machine ({})\n", out.string(), file.summary,
             dry.total_steps, minutes(dry.step_s * static_cast<double>(dry.total_steps)),
             args.device);
  const std::string run = "runs/" + file.name;
  const std::string example =
      file.example.empty() ? "--text 'a text of your own'" : word(file.example.string());
  fmt::print("next:\n  fovea train {} --out {}\n  fovea eval {}\n  fovea predict {} {} --out {}\n",
             word(out.string()), run, run, run, example, "predictions");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "init",
      "Writes an experiment file to start from for a folder of your own data: parts, network, "
      "recipe "
      "and metrics\nby what the data are and by what this machine can do, with comments. One "
      "training step is tried first.\n\n"
      "Example: fovea init images birds/          pictures in folders of classes\n"
      "         fovea init masks kvasir/          images/ and masks/\n"
      "         fovea init nnunet hippocampus/    dataset.json, imagesTr/, labelsTr/\n"
      "         fovea init texts reviews.csv      a table, or texts in folders of classes\n");
  Arguments args;
  apps::Options cli = program.options();
  cli.add_option("-o,--out", args.out, "file to write, which must be new (default: NAME.json here)")
      .value("FILE");
  cli.add_option("--name", args.name, "of the experiment (default: that of the folder)")
      .value("NAME");
  cli.add_option("--device", args.device,
                 "on which it will be trained: cpu, cuda, opencl (default: cpu); a larger network "
                 "for a larger one")
      .value("DEVICE");
  cli.add_flag("--force", args.force, "replaces a file that is there");
  cli.add_flag("-q,--quiet", program.common.quiet, "no progress");
  std::vector<std::pair<apps::Options, const experiment::StartKind*>> kinds;
  for (const experiment::StartKind& kind : experiment::start_kinds()) {
    apps::Options options = cli.add_subcommand(kind.name, kind.help);
    options.add_option("FOLDER", args.folder, kind.help).required().value("FOLDER");
    kinds.emplace_back(options, &kind);
  }
  return program.run(argc, argv, [&] {
    for (const auto& [options, kind] : kinds) {
      if (options.parsed()) return init(*kind, args, program.common.quiet);
    }
    throw ConfigError(
        "what the folder holds is not said; expected images, masks, nnunet or texts; "
        "see fovea init --help");
  });
}
