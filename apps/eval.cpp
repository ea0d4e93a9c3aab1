// eval: scores a network, clean and under corruption, and writes what it predicts.

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "common/mask_flags.h"
#include "common/weights_flags.h"
#include "eval/arguments.h"
#include "eval/printer.h"
#include "experiment/inference/evaluation.h"
#include "experiment/inference/postprocessing_file.h"
#include "training/selection.h"

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace fovea;
using apps::EvalArguments;

experiment::Opened open(const EvalArguments& args, const std::string& run,
                        const experiment::WantedSamples& samples) {
  if (experiment::is_experiment_file(run)) {
    FOVEA_CHECK(!args.weights.file.empty(), ConfigError,
                fmt::format("{}: is an experiment file; give its weights with --weights FILE, or "
                            "the folder of a run made by train",
                            run));
    FOVEA_CHECK(args.checkpoint.empty() && !args.averaged, ConfigError,
                "--checkpoint, --ema: are of runs; --weights names a file");
    FOVEA_CHECK(args.runs.size() == 1, ConfigError,
                "--weights: is of one experiment file; several runs are folders or model files");
    return experiment::open_experiment({run, args.weights, args.threads, args.overrides, samples});
  }
  FOVEA_CHECK(args.weights.file.empty() || io::fs::exists(run), FileError,
              fmt::format("{}: not found; expected an experiment file", run));
  FOVEA_CHECK(args.weights.file.empty(), ConfigError,
              fmt::format("--weights: needs an experiment file, e.g. {}",
                          (io::fs::path(run) / "config.json").string()));
  return experiment::open_run(
      {run, args.checkpoint, args.averaged, args.threads, args.overrides, samples});
}

std::vector<experiment::Opened> open_all(const EvalArguments& args,
                                         const experiment::WantedSamples& samples) {
  std::vector<experiment::Opened> opened;
  for (const std::string& run : args.runs) {
    opened.push_back(open(args, run, samples));
    opened.back().run->model().train(false);
    for (const auto& notes :
         {opened.back().run->task().source().notes(), opened.back().run->notes()}) {
      for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
    }
  }
  return opened;
}

// Runs of a sweep are called "sweep/row".
std::string ensemble_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '-');
  return name + "-ensemble";
}

// `part`: the split, or what stands for it where networks or inputs are changed.
io::fs::path results_folder(const EvalArguments& args, const std::string& name,
                            const std::string& part) {
  if (!args.out.empty()) return args.out;
  if (args.runs.size() > 1) return experiment::default_folder("eval", ensemble_name(name)) / part;
  const io::fs::path run = args.runs.front();
  if (io::fs::is_directory(run)) return run / "eval" / part;
  return experiment::default_folder("eval", name) / part;
}

int evaluate(const EvalArguments& args, const apps::Common& common) {
  const bool json = common.json;
  const std::vector<experiment::Opened> opened =
      open_all(args, experiment::WantedSamples::of(args.split));
  for (const std::string& note : experiment::use_postprocessing(opened, args.postprocessing))
    fmt::print(stderr, "note: {}\n", note);
  experiment::Run& run = *opened.front().run;
  const training::BatchSource& data = run.task().source();
  const data::Split split = args.split.empty() ? training::reported_part(data.parts())
                                               : data::split_from_name(args.split);
  const std::string& name = run.experiment().name;
  experiment::EvalRequest request;
  request.runs = args.runs;
  request.overrides = args.overrides;
  const bool asks_noise = opened.size() == 1 || !args.noise.empty() || !args.levels.empty();
  if (!args.no_noise && asks_noise)
    request.noise = experiment::noise_grid(data, args.noise, args.levels);
  request.interventions = {explain::head_settings(args.interventions.set_heads),
                           args.interventions.drop(args.seed)};
  const std::string part = std::string(data::name_of(split)) + request.interventions.suffix();
  request.report = {split, results_folder(args, name, part), name + ", " + part, args.save,
                    args.overlays};
  const bool watched = !json && !common.quiet && apps::stderr_is_terminal();
  apps::EvalPrinter printer(opened, request, json, watched);
  apps::begin_work();
  const schema::Value result = experiment::evaluate(opened, request, printer);
  if (json) {
    fmt::print("{}\n", result.dump());
  } else {
    printer.finish();
  }
  return 0;
}

// Chosen on the validation part, since what is chosen on test makes its scores too good.
int choose_postprocessing(const EvalArguments& args, bool json) {
  const io::fs::path folder = args.runs.front();
  FOVEA_CHECK(args.runs.size() == 1 && io::fs::is_directory(folder), ConfigError,
              "--choose-postprocessing: expected the folder of one run made by train");
  FOVEA_CHECK(args.interventions.set_heads.empty() && args.interventions.drop_patches.empty(),
              ConfigError,
              "--choose-postprocessing: is of the network as it is; --set-heads and --drop-patches "
              "do not stand beside it");
  FOVEA_CHECK(args.split.empty() && args.postprocessing.empty(), ConfigError,
              "--choose-postprocessing: tries by itself, on val; --split, --keep-largest and "
              "--min-size do not stand beside it");
  constexpr data::Split kSplit = data::Split::kVal;
  const std::vector<experiment::Opened> opened =
      open_all(args, experiment::WantedSamples::of(std::string(data::name_of(kSplit))));
  experiment::Run& run = *opened.front().run;
  run.prepare_evaluation();
  const training::PostprocessingChoice choice = run.task().choose_postprocessing(kSplit);
  const schema::Value value = experiment::described(choice, opened.front(), kSplit);
  const io::fs::path file = folder / experiment::kPostprocessingFile;
  io::write_atomic(file, value.dump() + "\n");
  if (json) {
    fmt::print("{}\n", value.dump());
    return 0;
  }
  fmt::print("{} ({} samples of {}, {})\n", run.experiment().name, choice.cases,
             data::name_of(kSplit), opened.front().weights.text());
  std::size_t width = 20;
  for (const auto& step : choice.steps) width = std::max(width, step.keep_largest.size());
  fmt::print("  {:<{}}{:>12}{:>12}\n", "largest component of", width, "Dice before", "after");
  for (const auto& step : choice.steps)
    fmt::print("  {:<{}}{:>12}{:>12}  {}\n", step.keep_largest, width,
               fmt::format("{:.2f} %", 100 * step.before),
               fmt::format("{:.2f} %", 100 * step.after), step.taken ? "taken" : "not taken");
  fmt::print("post-processing: {}\nwritten to {}, which eval and predict apply\n",
             choice.options.text(), file.string());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "eval",
      "Scores a trained run on a split, clean and under every corruption asked for; or the mean "
      "of\n"
      "several runs; or, with --weights, the network of an experiment file with weights of "
      "another\n"
      "program.\n\n"
      "Example: fovea eval runs/dgvit --noise gaussian --noise occlusion --level 0.2 --level 0.4\n"
      "         fovea eval runs/dgvit --save logits,probabilities.csv\n"
      "         fovea eval runs/vit --set-heads 'blocks.0:0=off'\n"
      "         fovea eval runs/fold0 runs/fold1\n"
      "         fovea eval runs/hippocampus --choose-postprocessing\n"
      "         fovea eval experiments/imagenet/vit_tiny_patch16_224.json --weights "
      "vit.safetensors\n");
  EvalArguments args;
  apps::Options cli = program.options();
  cli.add_option("RUN", args.runs,
                 "folder of a run made by train, or what export made of it; with --weights an "
                 "experiment file; of several runs the mean of their probabilities is scored")
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
  apps::add_intervention_flags(cli, args.interventions);
  cli.add_option("--seed", args.seed, "seed of the patches that --drop-patches draws (default: 1)")
      .range(0, 2147483647);
  apps::add_mirror_flag(cli, args.mirror);
  apps::add_postprocessing_flags(cli, args.postprocessing);
  cli.add_flag("--choose-postprocessing", args.choose_postprocessing,
               "nothing is scored: which --keep-largest improves the masks of val, by nnU-Net's "
               "rule, is written to RUN/postprocessing.json, which eval and predict then apply");
  cli.add_option("-o,--out", args.out,
                 "folder for the results (default: RUN/eval/<split>; of files "
                 "eval/<name>/<split>, of several runs eval/<name>-ensemble/<split>; of changed "
                 "heads or patches <split>-changed-<hash> in place of <split>)")
      .value("FOLDER");
  cli.add_option("--threads", args.threads, "threads (0: all cores)").range(0, 1024);
  program.add_overrides(args.overrides);
  program.add_verbosity();
  program.add_json();
  return program.run(argc, argv, [&] {
    apps::install_stop_handlers("eval");
    apps::add_mirror_override(args.mirror, args.overrides);
    if (args.choose_postprocessing) return choose_postprocessing(args, program.common.json);
    return evaluate(args, program.common);
  });
}
