// visualise-attention: figures of trained runs on images, texts and volumes.

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "common/weights_flags.h"
#include "experiment/pictures/shown_run.h"
#include "visualise_attention/figure_flags.h"

namespace {

using namespace fovea;

struct Arguments {
  std::vector<std::string> runs;    // or experiment files, each with a file of weights
  std::vector<std::string> inputs;  // numbers of samples, or image files
  std::vector<std::string> texts;   // words to be read
  std::string split;                // empty: the one that the run reports
  std::string checkpoint;
  std::optional<bool> averaged;
  std::vector<std::filesystem::path> weights;  // of the experiment files among `runs`, in order
  training::ForeignWeights reading;            // how they are read; its file is not used
  std::vector<std::string> overrides;
  std::string out = "attention";
  int threads = 0;
};

std::vector<experiment::Opened> open_runs(const Arguments& args) {
  const auto experiments =
      std::count_if(args.runs.begin(), args.runs.end(), experiment::is_experiment_file);
  FOVEA_CHECK(experiments == std::ssize(args.weights), ConfigError,
              fmt::format("--weights: {} given for {} experiment files; expected one for each",
                          args.weights.size(), experiments));
  std::vector<experiment::Opened> runs;
  std::size_t used = 0;  // files of weights
  for (const std::string& path : args.runs) {
    const experiment::WantedSamples samples =
        experiment::samples_shown(path, args.inputs, args.texts, args.split);
    if (experiment::is_experiment_file(path)) {
      training::ForeignWeights weights = args.reading;
      weights.file = args.weights[used++];
      runs.push_back(
          experiment::open_experiment({path, weights, args.threads, args.overrides, samples}));
    } else {
      runs.push_back(experiment::open_run(
          {path, args.checkpoint, args.averaged, args.threads, args.overrides, samples}));
    }
    for (const std::string& note : runs.back().run->notes()) fmt::print(stderr, "note: {}\n", note);
  }
  return runs;
}

int visualise_runs(const Arguments& args, const apps::FigureFlags& flags,
                   const apps::Common& common) {
  const visualise::Figure* asked = flags.asked();
  visualise::check_options(asked, flags.given());
  const std::vector<experiment::Opened> opened = open_runs(args);
  const auto print = [&](std::FILE* to, const char* before) {
    return [=, quiet = common.quiet](const std::string& line) {
      if (!quiet) fmt::print(to, "{}{}\n", before, line);
    };
  };
  visualise::draw_figure(asked,
                         {.runs = experiment::shown_runs(opened, args.runs, args.split),
                          .inputs = args.inputs,
                          .texts = args.texts,
                          .out = args.out,
                          .say = print(stdout, ""),
                          .note = print(stderr, "note: ")},
                         flags.given());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "visualise-attention",
      "Draws a figure of trained runs into a folder. Without --figure it is the one that the runs "
      "call for:\nattention rollouts of images or texts, beside each other, with the maps as "
      "numbers and as a page for the\nbrowser; of segmentations of volumes their slices; of "
      "detectors what they find, and where\nthey look there; of transcribers, language models and "
      "generators of images what they do with a\nrecording, a text and noise.\n\n"
      "Figures (docs/visualising.md shows them):\n" +
          visualise::figure_lines() +
          "\nExample: fovea visualise-attention runs/dgvit runs/vit --input 0 --input 7 --heads\n"
          "         fovea visualise-attention runs/dgt runs/transformer --input 3 --text \"a good "
          "film\"\n"
          "         fovea visualise-attention experiments/imagenet/vit_tiny_patch16_224.json "
          "--weights vit.safetensors\n"
          "         fovea visualise-attention runs/vit runs/linear --figure scores --input 7 "
          "--query 8,8\n"
          "         fovea visualise-attention runs/dgvit --figure pca --input 0 --input 7\n"
          "         fovea visualise-attention runs/gdla runs/la --figure maps --maps "
          "update,saliency --input 0\n"
          "         fovea visualise-attention runs/gdla runs/la --figure predictions --input 0 "
          "--input 7\n"
          "         fovea visualise-attention runs/bccd --input 0 --detection 0,3 --smooth\n"
          "         fovea visualise-attention runs/hippocampus --input 3 --slices 4\n"
          "         fovea visualise-attention runs/hippocampus --input scan.nii.gz --query "
          "20,24,20\n");
  Arguments args;
  apps::Options cli = program.options();
  cli.add_option("RUN", args.runs,
                 "folders of runs made by train, what export made of them, or experiment files "
                 "with --weights")
      .required()
      .value("EXPERIMENT");
  apps::FigureFlags flags(cli);
  cli.add_option(
         "-i,--input", args.inputs,
         "number of a sample of the split, or an image, sound or NIfTI file (channels end in "
         "_0000, _0001, ...); of generators of images a class; repeatable (default: one of each "
         "class, at most 10; of samples without classes the first four)")
      .value("FILE");
  cli.add_option("--text", args.texts, "words for runs that read or write texts; repeatable");
  apps::add_subject_flags(cli, args.split, args.checkpoint, args.averaged);
  cli.add_option("--weights", args.weights,
                 "safetensors file with the weights of an experiment file; once for each, in order")
      .value("FILE");
  apps::add_renaming_flags(cli, args.reading);
  apps::add_mismatch_flags(cli, args.reading);
  cli.add_option("-o,--out", args.out, "folder for the pictures (default: attention)")
      .value("FOLDER");
  cli.add_option("--threads", args.threads, "threads (0: all cores)").range(0, 1024);
  program.add_overrides(args.overrides);
  program.add_verbosity();
  return program.run(argc, argv, [&] { return visualise_runs(args, flags, program.common); });
}
