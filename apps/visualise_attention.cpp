// visualise-attention: rollouts and per-head maps of trained runs on images, texts and volumes,
// pages to explore them, and what their layers see.

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "common/weights_flags.h"
#include "data/volumes/volume_dataset.h"
#include "visualise_attention/arguments.h"
#include "visualise_attention/components.h"
#include "visualise_attention/grids.h"
#include "visualise_attention/images.h"
#include "visualise_attention/layers.h"
#include "visualise_attention/magnitude.h"
#include "visualise_attention/predictions.h"
#include "visualise_attention/scores.h"
#include "visualise_attention/stages.h"
#include "visualise_attention/subject.h"
#include "visualise_attention/texts.h"
#include "visualise_attention/volumes.h"

namespace {

using namespace fovea;
using apps::Arguments;
using apps::Subject;

enum class Tokens { kWords, kPatches, kGrids, kVolumes };

// Patches, where there is one grid for all blocks.
Tokens tokens_of(experiment::Run& run, const Arguments& args) {
  if (run.model().interface() == models::Interface::kTextClassifier) return Tokens::kWords;
  if (data::find_volumes(run.task().source().at(apps::split_of(args, run))) != nullptr)
    return Tokens::kVolumes;
  return run.model().geometry().grid_h > 0 ? Tokens::kPatches : Tokens::kGrids;
}

const char* text_of(Tokens tokens) {
  if (tokens == Tokens::kWords) return "texts";
  if (tokens == Tokens::kVolumes) return "volumes";
  return tokens == Tokens::kPatches ? "images" : "images on grids of several sizes";
}

int visualise_runs(const Arguments& args, const apps::Common& common) {
  FOVEA_CHECK(args.pca || args.scores || args.magnitude || args.layers.empty(), ConfigError,
              "--layer: chooses the layers of --pca, --scores or --magnitude; none is given");
  FOVEA_CHECK(!args.maps.empty() || args.stages.empty(), ConfigError,
              "--stage: chooses the stages of --maps, which is not given");
  const int instead = int{args.scores} + int{args.magnitude} + int{args.pca} +
                      int{args.across_depth} + int{!args.maps.empty()} + int{args.predictions};
  FOVEA_CHECK(instead <= 1, ConfigError,
              "--scores, --magnitude, --pca, --across-depth, --maps, --predictions: each is drawn "
              "instead of "
              "rollouts; give one");
  if (args.scores) apps::draw_scores(args, common);
  if (args.magnitude) apps::draw_magnitude(args, common);
  if (args.pca) apps::draw_components(args, common);
  if (args.across_depth) apps::draw_across_depth(args, common);
  if (!args.maps.empty()) apps::draw_stages(args, common);
  if (args.predictions) apps::draw_predictions(args, common);
  if (instead > 0) return 0;
  std::vector<experiment::Opened> runs = apps::open_runs(args);
  const Tokens tokens = tokens_of(*runs[0].run, args);
  const std::vector<std::string> names = apps::folder_names(args);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Tokens own = tokens_of(*runs[i].run, args);
    FOVEA_CHECK(own == tokens, ConfigError,
                fmt::format("{}: reads {}, {} reads {}; draw them apart", names[i], text_of(own),
                            names[0], text_of(tokens)));
  }
  if (tokens == Tokens::kVolumes) {
    apps::draw_volumes(runs, args, common);
    return 0;
  }
  FOVEA_CHECK(tokens == Tokens::kGrids || (args.query.empty() && !args.whole_maps), ConfigError,
              fmt::format("--query, --whole-maps: are of --scores, and of networks with grids of "
                          "several sizes; {} reads {}",
                          names[0], text_of(tokens)));
  if (tokens == Tokens::kGrids) {
    apps::draw_grids(runs, args, common);
    return 0;
  }
  std::vector<Subject> subjects = apps::subjects_of(std::move(runs), args);
  const apps::Drawn drawn = tokens == Tokens::kWords ? apps::draw_texts(subjects, args)
                                                     : apps::draw_images(subjects, args);
  if (common.quiet) return 0;
  for (const Subject& s : subjects)
    fmt::print("{:<20} {}\n", s.name, apps::weights_text(s.weights));
  for (const Subject& s : subjects) {
    for (std::size_t i = 0; i < drawn.inputs.size(); ++i)
      fmt::print("{:<20} {:<20} predicted {}\n", s.name, drawn.inputs[i], s.predicted(i));
  }
  for (const std::string& name : drawn.files)
    fmt::print("{}\n", (io::fs::path(args.out) / name).string());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "visualise-attention",
      "Draws attention rollouts of trained runs side by side (rollout.png, over the images "
      "overlay.png, of texts\nrollout-<text>.png), writes the maps as numbers (maps.safetensors, "
      "weights.csv) and as a page for the browser "
      "(explorer.html):\nhover a patch or a word to see what it attends to in each layer and head; "
      "the page is one file and\nneeds no network. Of segmentations of volumes it draws slices "
      "with truth, prediction, errors and\n"
      "attention, and a page to scroll through them (volumes-<run>.html).\n\n"
      "Example: fovea visualise-attention runs/dgvit runs/vit --input 0 --input 7 --heads\n"
      "         fovea visualise-attention runs/dgt runs/transformer --input 3 --text \"a good "
      "film\"\n"
      "         fovea visualise-attention experiments/imagenet/vit_tiny_patch16_224.json --weights "
      "vit.safetensors\n"
      "         fovea visualise-attention runs/vit runs/linear --scores --input 7 --query 8,8\n"
      "         fovea visualise-attention runs/dgvit --pca --input 0 --input 7\n"
      "         fovea visualise-attention runs/gdla runs/la --maps update,saliency --input 0\n"
      "         fovea visualise-attention runs/gdla runs/la --predictions --input 0 --input 7\n"
      "         fovea visualise-attention runs/hippocampus --input 3 --slices 4\n");
  Arguments args;
  apps::Options cli = program.options();
  cli.add_option("RUN", args.runs,
                 "folders of runs made by train, or experiment files with --weights")
      .required()
      .value("EXPERIMENT");
  cli.add_option(
         "-i,--input", args.inputs,
         "number of a sample of the split, or an image file; repeatable (default: one of each "
         "class, at most 10; of samples without classes the first four)")
      .value("FILE");
  cli.add_option("--text", args.texts, "words for runs that read texts; repeatable");
  apps::add_subject_flags(cli, args.split, args.checkpoint, args.averaged);
  cli.add_option("--weights", args.weights,
                 "safetensors file with the weights of an experiment file; once for each, in order")
      .value("FILE");
  apps::add_renaming_flags(cli, args.reading);
  apps::add_mismatch_flags(cli, args.reading);
  cli.add_option("--sign", args.sign, "default: raw").value("raw|abs|positive|negative");
  cli.add_option("--normalise", args.normalise,
                 "rows (default: sum; abs for raw signed maps); of --scores minmax, each picture "
                 "from its least to its largest (the default), or rowsum, shares of the sum in "
                 "common colours")
      .value("sum|abs|none|minmax|rowsum");
  cli.add_option("--fusion", args.fusion, "over heads (default: mean)").value("mean|max|min");
  cli.add_option("--discard", args.discard, "share of smallest entries set to zero")
      .range(0.0, 0.999);
  cli.add_option("--alpha", args.alpha, "weight of the map against the skip connection")
      .range(0.0, 1.0);
  cli.add_option("--start-layer", args.start_layer, "first layer of the rollout, from 0")
      .non_negative();
  cli.add_option("--scale", args.scale,
                 "where colours begin and end: at the 1st and 99th percentile (percentiles, the "
                 "default; of signed maps as far on both sides), at 0 (from_zero), at the "
                 "percentiles of logarithms in times an even share (even_share), or at the least "
                 "and the largest of each image (minmax); and behind a comma what has the same "
                 "colours: the images of a run (column, the default), all runs of one quantity "
                 "(figure), nothing (image)")
      .value("percentiles|from_zero|even_share|minmax|column|figure|image");
  cli.add_option("--colours", args.colours,
                 "of quantities without sign (default: inferno; of --scores jet); signed ones are "
                 "blue, light grey at 0, red, but with --scale minmax")
      .value("inferno|plasma|viridis|cividis|reds|jet|blues|grey");
  cli.add_flag("--smooth", args.smooth, "blend between patches instead of a block for each");
  cli.add_option("--overlay", args.overlay,
                 "share of the image under the map, 0 to 1 (default: 0.5; 0: no overlay.png)")
      .range(0.0, 1.0);
  cli.add_option("--factor", args.factor, "enlargement of the images").range(1, 64);
  cli.add_flag("--heads", args.heads, "also every layer and head, of images");
  cli.add_option(
         "--query", args.query,
         "of --scores, --magnitude, and of networks with grids of several sizes (Swin, PVTv2, "
         "segmentation): row "
         "and column of the pixel whose attention is drawn (default: the middle); of "
         "volumes SLICE,ROW,COLUMN of a voxel of the file, from 0 (default: the mean of all)")
      .commas()
      .value("ROW,COLUMN");
  cli.add_flag("--whole-maps", args.whole_maps,
               "of these: all rows of every map in maps.safetensors, not the query's alone; 75 MiB "
               "for each head at 56 x 56 tokens");
  cli.add_flag("--no-explorer", args.no_explorer,
               "no explorer.html, which holds every map: about a byte a weight; no "
               "volumes-<run>.html, at most 15 MB a case");
  cli.add_flag("--across-depth", args.across_depth,
               "instead: what layer attention does from layer to layer (likeness of keys, decay, "
               "weights of layers), over --samples images");
  cli.add_option("--samples", args.samples, "images of the split for --across-depth").positive();
  cli.add_flag("--scores", args.scores,
               "instead: what the patch at --query scores in a layer, mean over heads, over the "
               "images, runs side by side (scores.png, scores.csv)");
  apps::Option magnitude =
      cli.add_flag("--magnitude", args.magnitude,
                   "instead: bars of what the patch at --query scores in a layer and head of a "
                   "linear attention as its query grows, by softmax, linear attention and MALA "
                   "(magnitude.png, magnitude.csv); with random keys: fovea inspect magnitude");
  cli.add_option("--head", args.head, "of --magnitude, from 0").non_negative().needs(magnitude);
  cli.add_flag(
      "--pca", args.pca,
      "instead: what each layer sees of the images: the "
      "first three principal components of its patches as red, green and blue (pca-<run>.png), "
      "and the variance they explain (pca.csv)");
  cli.add_option("--layer", args.layers,
                 "of --pca, --scores and --magnitude: number of a layer, from 0, or its name, as "
                 "blocks.11, of --scores also mean; repeatable (default: all; of --scores and "
                 "--magnitude the last)");
  cli.add_option("--maps", args.maps,
                 "instead: what the blocks of a decoder (pvt_gdla, ...) do with tokens, a picture "
                 "for each image: norms of what enters, size of what attention adds, their "
                 "differences between runs; or root mean squares of tokens and channels")
      .commas()
      .value("token_norm|update|saliency");
  cli.add_option("--stage", args.stages, "of --maps: 1 is the coarsest (default: all)")
      .commas()
      .value("N,...");
  cli.add_option("--compare", args.compare,
                 "of --maps update: the run from whose map those of the others are subtracted "
                 "(default: first)")
      .value("first|last|none");
  cli.add_flag("--predictions", args.predictions,
               "instead: the samples with their truth and the segmentation of every run "
               "(predictions.png): contours of one foreground, colours of several classes");
  cli.add_option("--thickness", args.thickness,
                 "of the contours of --predictions and of volumes, in pixels")
      .positive();
  cli.add_option("--slices", args.slices, "of volumes: how many in each plane (default: 3)")
      .positive();
  cli.add_option("--convention", args.convention,
                 "of volumes: the patient's right at the left of axial and coronal slices, as if "
                 "seen from the feet and the front (radiological, the default), or at the right")
      .value("radiological|neurological");
  cli.add_option("-o,--out", args.out, "folder for the pictures (default: attention)")
      .value("FOLDER");
  cli.add_option("--threads", args.threads, "threads (0: all cores)").range(0, 1024);
  program.add_overrides(args.overrides);
  program.add_verbosity();
  return program.run(argc, argv, [&] { return visualise_runs(args, program.common); });
}
