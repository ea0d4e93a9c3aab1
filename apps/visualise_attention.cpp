// visualise-attention: figures of trained runs on images, texts and volumes.

#include <fmt/format.h>

#include "common/app.h"
#include "common/shown_flags.h"
#include "visualise_attention/figure_flags.h"

namespace {

using namespace fovea;

int visualise_runs(const experiment::ShownPaths& paths, const std::string& out,
                   const apps::FigureFlags& flags, const apps::Common& common) {
  const visualise::Figure* asked = flags.asked();
  visualise::check_options(asked, flags.given());
  const std::vector<experiment::Opened> opened = apps::opened(paths);
  const auto print = [&](std::FILE* to, const char* before) {
    return [=, quiet = common.quiet](const std::string& line) {
      if (!quiet) fmt::print(to, "{}{}\n", before, line);
    };
  };
  visualise::draw_figure(asked,
                         {.runs = experiment::shown_runs(opened, paths.runs, paths.split),
                          .inputs = paths.inputs,
                          .texts = paths.texts,
                          .out = out,
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
  experiment::ShownPaths paths;
  std::string out = "attention";
  apps::Options cli = program.options();
  apps::FigureFlags flags(cli);
  apps::add_shown_flags(
      program, paths,
      "number of a sample of the split, or an image, sound or NIfTI file (channels end in _0000, "
      "_0001, ...); of generators of images a class; repeatable (default: one of each class, at "
      "most 10; of samples without classes the first four)");
  cli.add_option("-o,--out", out, "folder for the pictures (default: attention)").value("FOLDER");
  program.add_verbosity();
  return program.run(argc, argv, [&] { return visualise_runs(paths, out, flags, program.common); });
}
