// predict: a trained run on pictures, volumes, recordings or texts of one's own.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "common/mask_flags.h"
#include "experiment/inference/postprocessing_file.h"
#include "experiment/inference/prediction.h"
#include "experiment/run/open_run.h"
#include "predict/printer.h"
#include "training/store/model_file.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace fovea;

struct Arguments {
  std::string out;
  std::vector<std::string> words;  // runs, then inputs
  std::vector<std::string> inputs, texts, columns;
  std::string checkpoint;
  std::optional<bool> averaged;
  std::vector<std::string> overrides;
  std::string format = "csv";
  bool probabilities = false;
  std::int64_t batch_size = 0;
  bool continues = false;
  std::vector<std::string> mirror;  // axes
  training::PostprocessingOptions postprocessing;
  int threads = 0;
};

// Behind the first word, which is a run, and all that follow and are runs.
std::vector<std::string>::const_iterator first_input(const std::vector<std::string>& words) {
  return std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
    return !training::is_model_file(word) && !io::fs::exists(io::fs::path(word) / "config.json");
  });
}

// "checkpoint best, step 40"; of several runs each with its folder.
std::string weights_text(const std::vector<std::string>& folders,
                         const std::vector<experiment::Opened>& opened) {
  if (opened.size() == 1) return opened.front().weights.text();
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < opened.size(); ++r)
    texts.push_back(fmt::format("{} ({})", folders[r], opened[r].weights.text()));
  return fmt::format("the mean of {} runs: {}", texts.size(), fmt::join(texts, ", "));
}

// "4 of 5 predicted by checkpoint last, step 40, in predictions"; of a pass that was stopped, how
// many inputs it did not reach.
std::string outcome(const experiment::PredictCounts& counts, const std::string& how) {
  const std::int64_t done = counts.predicted + counts.failed;
  if (!counts.stopped) return fmt::format("{} of {} {}", counts.predicted, done, how);
  if (counts.inputs == 0)
    return fmt::format(
        "stopped: {} of the first {} {}; what follows was not reached, go on with --continue",
        counts.predicted, done, how);
  return fmt::format("stopped: {} of {} {}; {} not reached, go on with --continue",
                     counts.predicted, counts.inputs, how, counts.inputs - done);
}

int predict(const Arguments& args, bool quiet) {
  const io::fs::path out = args.out;
  const auto inputs_begin = first_input(args.words);
  const std::vector<std::string> folders(args.words.begin(), inputs_begin);
  std::vector<std::string> inputs(inputs_begin, args.words.end());
  inputs.insert(inputs.end(), args.inputs.begin(), args.inputs.end());
  FOVEA_CHECK(!inputs.empty() || !args.texts.empty(), ConfigError,
              "--input: expected files or folders behind the run, or texts as --text");
  const experiment::TableFormat format = experiment::table_format(args.format, "--format");
  const bool holds_something =
      io::fs::exists(out) && !(io::fs::is_directory(out) && io::fs::is_empty(out));
  FOVEA_CHECK(!holds_something || (args.continues && io::fs::is_directory(out)), FileError,
              fmt::format("--out {}: is there and holds something; choose another folder, or go on "
                          "with --continue",
                          args.out));
  std::vector<experiment::Opened> opened;
  std::vector<experiment::Run*> runs;
  for (const std::string& folder : folders) {
    opened.push_back(experiment::open_run({folder, args.checkpoint, args.averaged, args.threads,
                                           args.overrides, experiment::WantedSamples::none()}));
    runs.push_back(opened.back().run.get());
    for (const std::string& note : runs.back()->notes()) fmt::print(stderr, "note: {}\n", note);
  }
  for (const std::string& note : experiment::use_postprocessing(opened, args.postprocessing))
    fmt::print(stderr, "note: {}\n", note);
  apps::PredictPrinter printer(quiet);
  apps::begin_work();
  const experiment::PredictCounts counts = experiment::predict(runs,
                                                               {{inputs.begin(), inputs.end()},
                                                                args.texts,
                                                                args.columns,
                                                                out,
                                                                format,
                                                                args.probabilities,
                                                                args.batch_size,
                                                                args.continues},
                                                               printer);
  printer.finish();
  const std::string how =
      fmt::format("predicted by {}, in {}", weights_text(folders, opened), out.string());
  fmt::print("{}\n", outcome(counts, how));
  if (counts.stopped) return apps::kStopped;
  return counts.failed > 0 ? apps::kRunTimeError : 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "predict",
      "Runs the network of a trained run, or the mean of several, on pictures, NIfTI volumes,\n"
      "recordings or texts of your own, and writes masks, labels, classes or objects on the grid\n"
      "of each file, or the text of a recording, as they come. The data that the run was trained\n"
      "on need not be there.\n\n"
      "Example: fovea predict runs/hippocampus scans/ --out predictions\n"
      "         fovea predict runs/dgvit cat.png dog.png --out predictions\n"
      "         fovea predict runs/fold0 runs/fold1 --input scans/ --out predictions\n"
      "         fovea predict runs/dgt --text 'a good film' --out predictions\n"
      "         fovea predict runs/dgt reviews.csv --column review --format jsonl --out "
      "predictions\n");
  Arguments args;
  apps::Options cli = program.options();
  cli.add_option("RUN", args.words,
                 "runs: folders made by train, or files made of them by export, of which the "
                 "probabilities are averaged; the words behind them are inputs, as with --input")
      .required()
      .value("RUN");
  cli.add_option("--input", args.inputs,
                 "pictures, recordings, .nii and .nii.gz volumes (channels end in _0000, _0001, "
                 "..., or lie along the fourth axis of one file), or folders of them with their "
                 "sub-folders; of texts files with one in "
                 "each line, .csv, .tsv or .jsonl tables, or - for standard input; repeatable")
      .value("FILE");
  cli.add_option("--text", args.texts, "a text itself; repeatable").value("TEXT");
  cli.add_option("--column", args.columns,
                 "column of tables that holds the texts; of several the texts are joined (text)")
      .value("NAME");
  cli.add_option("-o,--out", args.out, "folder for the predictions; must be new or empty")
      .required()
      .value("FOLDER");
  cli.add_flag(
      "--continue", args.continues,
      "go on with a pass that was interrupted: the same command again; what is in --out is "
      "kept, and the rest is predicted");
  cli.add_option("--format", args.format, "of the table of predictions (csv)").value("csv|jsonl");
  cli.add_flag("--probabilities", args.probabilities,
               "the probability of every class: in the table, or of masks and volumes as a file "
               "for each class beside the labels");
  apps::add_mirror_flag(cli, args.mirror);
  apps::add_postprocessing_flags(cli, args.postprocessing);
  cli.add_option("--batch-size", args.batch_size,
                 "inputs that go through the network together (that of the run's evaluations)")
      .number("of at least 1", [](double n) { return n >= 1; });
  cli.add_option("--checkpoint", args.checkpoint,
                 "best, last or step-00001234 (default: the one that summary.json is about)");
  cli.add_option("--threads", args.threads, "threads (0: all cores)").range(0, 1024);
  program.add_overrides(args.overrides);
  program.add_verbosity();
  return program.run(argc, argv, [&] {
    apps::install_stop_handlers("predict");
    apps::add_mirror_override(args.mirror, args.overrides);
    return predict(args, program.common.quiet);
  });
}
