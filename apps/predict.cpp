// predict: a trained run on pictures or volumes of one's own.

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "experiment/inference/prediction.h"
#include "training/progress.h"
#include "training/status_line.h"

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace fovea;

struct Arguments {
  std::string run, out;
  std::vector<std::string> inputs;
  std::string checkpoint;
  std::optional<bool> averaged;
  std::vector<std::string> overrides;
  bool probabilities = false;
  int threads = 0;
};

int predict(const Arguments& args, bool quiet) {
  const io::fs::path out = args.out;
  FOVEA_CHECK(
      !io::fs::exists(out) || (io::fs::is_directory(out) && io::fs::is_empty(out)), FileError,
      fmt::format("--out {}: is there and holds something; choose another folder", args.out));
  const experiment::Opened opened =
      experiment::open_run({args.run, args.checkpoint, args.averaged, args.threads, args.overrides,
                            experiment::WantedSamples::none()});
  for (const std::string& note : opened.run->notes()) fmt::print(stderr, "note: {}\n", note);
  experiment::Run& run = *opened.run;
  run.model().train(false);
  const auto [inputs, notes] = experiment::predict_inputs(
      run, std::vector<io::fs::path>(args.inputs.begin(), args.inputs.end()));
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
  io::make_directories(out);
  const experiment::PredictRequest request{out, args.probabilities};
  std::vector<experiment::Prediction> predictions;
  std::size_t done = 0, failed = 0;
  // On a terminal a line that is redrawn, elsewhere one for each input.
  std::optional<training::StatusLine> status;
  if (apps::stderr_is_terminal()) status.emplace(std::cerr, apps::terminal_columns);
  const auto say = [&](const std::string& line) {
    status ? status->keep(line) : fmt::print(stderr, "{}\n", line);
  };
  for (const experiment::PredictInput& input : inputs) {
    if (apps::stop_requested()) break;
    try {
      predictions.push_back(experiment::predict(run, input, request));
    } catch (const FileError& error) {  // the others are worth having
      say(fmt::format("predict: {}", error.what()));
      ++failed;
    }
    ++done;
    if (quiet) continue;
    const std::string line = fmt::format(
        "{}  {}", training::count_of_total(static_cast<std::int64_t>(done), std::ssize(inputs)),
        input.name);
    status ? status->show(line) : say(line);
  }
  if (status) status->clear();
  experiment::write_predictions(run, predictions, request);
  fmt::print("{} of {} predicted by {}, in {}\n", done - failed, inputs.size(),
             opened.weights.text(), out.string());
  if (done < inputs.size()) return apps::kStopped;
  return failed > 0 ? apps::kRunTimeError : 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "predict",
      "Runs the network of a trained run on pictures, NIfTI volumes or recordings of your own, or "
      "on "
      "all\nof a folder, and writes masks, labels, classes or objects on the grid of each file, or "
      "the text of\na recording. The data that the run was trained on need not be there.\n\n"
      "Example: fovea predict runs/hippocampus scans/ --out predictions\n"
      "         fovea predict runs/dgvit cat.png dog.png --out predictions\n");
  Arguments args;
  apps::Options cli = program.options();
  cli.add_option("RUN", args.run, "folder of a run made by train, or what export made of it")
      .required()
      .value("FOLDER");
  cli.add_option("INPUT", args.inputs,
                 "pictures, recordings, or .nii and .nii.gz volumes (channels end in _0000, _0001, "
                 "...), or folders of them, whose sub-folders are not searched")
      .required()
      .value("FILE");
  cli.add_option("-o,--out", args.out, "folder for the predictions; must be new or empty")
      .required()
      .value("FOLDER");
  cli.add_flag("--probabilities", args.probabilities,
               "of masks and volumes: a file for each class beside the labels");
  cli.add_option("--checkpoint", args.checkpoint,
                 "best, last or step-00001234 (default: the one that summary.json is about)");
  cli.add_option("--threads", args.threads, "threads (0: all cores)").range(0, 1024);
  program.add_overrides(args.overrides);
  program.add_verbosity();
  return program.run(argc, argv, [&] {
    apps::install_stop_handlers();
    return predict(args, program.common.quiet);
  });
}
