// eval: scores a network, clean and under corruption, and writes what it predicts.

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "common/weights_flags.h"
#include "eval/arguments.h"
#include "eval/printer.h"
#include "experiment/inference/evaluation.h"
#include "training/selection.h"

namespace {

using namespace fovea;
using apps::EvalArguments;

experiment::Opened open(const EvalArguments& args) {
  const auto samples = experiment::WantedSamples::of(args.split);
  if (experiment::is_experiment_file(args.run)) {
    FOVEA_CHECK(!args.weights.file.empty(), ConfigError,
                fmt::format("{}: is an experiment file; give its weights with --weights FILE, or "
                            "the folder of a run made by train",
                            args.run));
    FOVEA_CHECK(args.checkpoint.empty() && !args.averaged, ConfigError,
                "--checkpoint, --ema: are of runs; --weights names a file");
    return experiment::open_experiment(
        {args.run, args.weights, args.threads, args.overrides, samples});
  }
  FOVEA_CHECK(args.weights.file.empty() || io::fs::exists(args.run), FileError,
              fmt::format("{}: not found; expected an experiment file", args.run));
  FOVEA_CHECK(args.weights.file.empty(), ConfigError,
              fmt::format("--weights: needs an experiment file, e.g. {}",
                          (io::fs::path(args.run) / "config.json").string()));
  return experiment::open_run(
      {args.run, args.checkpoint, args.averaged, args.threads, args.overrides, samples});
}

io::fs::path results_folder(const EvalArguments& args, const std::string& name,
                            std::string_view split) {
  if (!args.out.empty()) return args.out;
  if (io::fs::is_directory(args.run)) return io::fs::path(args.run) / "eval" / split;
  return experiment::default_folder("eval", name) / split;
}

int evaluate(const EvalArguments& args, const apps::Common& common) {
  const bool json = common.json;
  const experiment::Opened opened = open(args);
  experiment::Run& run = *opened.run;
  const data::Split split = args.split.empty()
                                ? training::reported_part(run.task().source().parts())
                                : data::split_from_name(args.split);
  run.model().train(false);
  const training::BatchSource& data = run.task().source();
  for (const auto& notes : {data.notes(), run.notes()}) {
    for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
  }
  const std::string& name = run.experiment().name;
  experiment::EvalRequest request;
  request.run = args.run;
  request.overrides = args.overrides;
  if (!args.no_noise) request.noise = experiment::noise_grid(data, args.noise, args.levels);
  const std::string part(data::name_of(split));
  request.report = {split, results_folder(args, name, part), name + ", " + part, args.save,
                    args.overlays};
  io::make_directories(request.report.folder);
  const bool watched = !json && !common.quiet && apps::stderr_is_terminal();
  apps::EvalPrinter printer(opened, request, json, watched);
  const schema::Value result = experiment::evaluate(opened, request, printer);
  if (json) {
    fmt::print("{}\n", result.dump());
  } else {
    printer.finish();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "eval",
      "Scores a trained run on a split, clean and under every corruption asked for; or, with "
      "--weights,\nthe network of an experiment file with weights of another program.\n\n"
      "Example: fovea eval runs/dgvit --noise gaussian --noise occlusion --level 0.2 --level 0.4\n"
      "         fovea eval runs/dgvit --save logits,probabilities.csv\n"
      "         fovea eval experiments/imagenet/vit_tiny_patch16_224.json --weights "
      "vit.safetensors\n");
  EvalArguments args;
  apps::Options cli = program.options();
  cli.add_option("RUN", args.run,
                 "folder of a run made by train, or what export made of it; with --weights an "
                 "experiment file")
      .required()
      .value("EXPERIMENT");
  apps::add_subject_flags(cli, args.split, args.checkpoint, args.averaged);
  cli.add_option("--weights", args.weights.file, "safetensors file with the weights to score")
      .value("FILE");
  apps::add_renaming_flags(cli, args.weights);
  apps::add_mismatch_flags(cli, args.weights);
  cli.add_option("--noise", args.noise,
                 "corruption type, or all; repeatable (default: dataset.noise.eval)");
  cli.add_option("--level", args.levels, "level between 0 and 1; repeatable (default: 0.1 to 0.5)");
  cli.add_flag("--no-noise", args.no_noise, "clean only");
  cli.add_option("--save", args.save,
                 "outputs of the network on the clean split: logits, probabilities (.safetensors, "
                 "or .csv after the word); of segmentation masks and original_masks (PNG, 0 and "
                 "255, at the network's and at the files' size), volumes (NIfTI, of slices), "
                 "probabilities; of detection boxes.json, masks.json, truth.json (COCO's form). "
                 "The formats are in docs/evaluation.md")
      .commas()
      .value("WHAT,...");
  cli.add_option("--overlays", args.overlays,
                 "samples drawn beside the truth, or with its outlines, spread over the split (12)")
      .range(0, 10000);
  cli.add_option("-o,--out", args.out,
                 "folder for the results (default: RUN/eval/<split>; of files "
                 "eval/<name>/<split>)")
      .value("FOLDER");
  cli.add_option("--threads", args.threads, "threads (0: all cores)").range(0, 1024);
  program.add_overrides(args.overrides);
  program.add_verbosity();
  program.add_json();
  return program.run(argc, argv, [&] {
    apps::install_stop_handlers();
    return evaluate(args, program.common);
  });
}
