// Segmentations of several networks beside the truth. gdla section 9, figures 4 and 5; of volumes
// dformer 8, figure 4.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "data/volumes/volume_dataset.h"
#include "metrics/label_maps.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/figures/shared/volume_inputs.h"
#include "visualise/figures/shared/volume_view.h"
#include "visualise/layouts/prediction_figure.h"
#include "visualise/layouts/volume_comparison.h"

namespace fovea::visualise {
namespace {

struct PredictionsOptions : VolumeView, ThicknessOption, FactorOption {
  std::string plane;
  std::optional<std::int64_t> boxes;

  bool of_volumes() const { return given() || !plane.empty(); }
};

const std::vector<std::string>& planes() {
  static const std::vector<std::string> words = {"axial", "coronal", "sagittal"};
  return words;
}

const schema::Fields<PredictionsOptions>& predictions_fields() {
  static const auto fields =
      schema::Fields<PredictionsOptions>{}
          .add("plane", &PredictionsOptions::plane, words(planes()),
               "of the slices of volumes (default: axial)")
          .add("boxes", &PredictionsOptions::boxes, schema::at_least(0),
               "red boxes around the largest regions that truth and runs do not label alike, so "
               "many in each row (default: 1 of volumes, 0 of images)")
          .include(volume_view_fields())
          .include(thickness_field())
          .include(factor_field());
  return fields;
}

std::vector<std::int64_t> integers(const Tensor& classes) {
  const auto values = classes.host_values<std::int64_t>();
  return {values.begin(), values.end()};
}

// Mean over the foreground classes in truth or prediction; "-" where no pixel counts.
std::string dice_text(const PredictionRow& row, std::size_t network, std::int64_t classes,
                      bool background) {
  metrics::ConfusionMatrix confusion(std::max<std::int64_t>(2, classes));
  confusion.add(row.truth, row.predicted[network], data::kIgnoreLabel);
  const metrics::ClassCounts counts = metrics::class_counts(confusion);
  const std::size_t first = background ? 1 : 0;
  std::vector<std::size_t> foreground(counts.truth.size() - first);
  std::iota(foreground.begin(), foreground.end(), first);
  const double dice = metrics::image_share(counts, metrics::class_dice(counts), foreground);
  return std::isnan(dice) ? "-" : fmt::format("{:.2f} %", 100 * dice);
}

void check_classes(const ShownRun& run, const ShownRun& first) {
  FOVEA_CHECK(run.samples.class_names() == first.samples.class_names(), ConfigError,
              fmt::format("{}: has other classes than {}", run.name, first.name));
}

void write(const FigureRequest& request, const Canvas& picture) {
  io::make_directories(request.out);
  write_png(request.out / "predictions.png", picture);
  request.say_files({"predictions.png"});
}

void draw_of_images(const FigureRequest& request, const PredictionsOptions& options) {
  FOVEA_CHECK(!options.of_volumes(), ConfigError,
              fmt::format("--slices, --query, --plane and --convention are of volumes; {} reads "
                          "images",
                          request.runs.front().name));
  const ShownRun& first = request.runs.front();
  const std::vector<ImageInput> inputs = image_inputs(request);
  PredictionFigure figure;
  for (const ShownRun& run : request.runs) figure.networks.push_back(run.name);
  figure.classes = first.samples.class_names();
  figure.background = first.samples.has_background();
  figure.thickness = options.thickness;
  figure.factor = options.enlargement(inputs[0].picture);
  figure.boxes = options.boxes.value_or(0);
  const std::int64_t classes = std::ssize(figure.classes);
  for (const ImageInput& input : inputs) {
    PredictionRow row{input.name, input.picture, {}, {}};
    for (const ShownRun& run : request.runs) {
      check_size(run, request);
      check_classes(run, first);
      if (!input.index) {
        row.predicted.push_back(integers(run.predicted_classes(prepared(input, run, request))));
        request.say(fmt::format("{:<20} {:<20} no truth", run.name, input.name));
        continue;
      }
      const PixelClasses seen = run.pixel_classes(place_of(input, run, request));
      if (row.truth.empty()) row.truth = integers(seen.truth);
      row.predicted.push_back(integers(seen.predicted));
      request.say(
          fmt::format("{:<20} {:<20} Dice {}", run.name, input.name,
                      dice_text(row, row.predicted.size() - 1, classes, figure.background)));
    }
    figure.rows.push_back(std::move(row));
  }
  write(request, render(figure));
}

Plane plane_of(const std::string& word) {
  if (word.empty()) return Plane::kAxial;
  check_word("--plane", word, planes());
  return word == planes()[0]   ? Plane::kAxial
         : word == planes()[1] ? Plane::kCoronal
                               : Plane::kSagittal;
}

// One volume as every run labels it, on the grid of its file, which all of them share.
ComparedVolume compared(const VolumeInput& input, const FigureRequest& request,
                        const PredictionsOptions& options) {
  ComparedVolume result;
  for (const ShownRun& run : request.runs) {
    CaseVolume own = run.volume_on_file(input_for(input, run, request));
    request.say(fmt::format("{:<20} {:<20} {}", run.name, input.name, dice_line(own)));
    result.predicted.push_back(own.predicted);
    if (result.predicted.size() == 1) result.volume = std::move(own);
  }
  result.volume.convention = options.side();
  result.through = options.voxel_in(result.volume);
  return result;
}

void draw_of_volumes(const FigureRequest& request, const PredictionsOptions& options) {
  FOVEA_CHECK(request.texts.empty(), ConfigError, "--text: the runs read volumes; give --input");
  options.check();
  VolumeComparison comparison;
  comparison.plane = plane_of(options.plane);
  comparison.look.slices = options.slices.value_or(comparison.look.slices);
  comparison.look.factor = options.factor.value_or(0);
  comparison.boxes = options.boxes.value_or(1);
  const ShownRun& first = request.runs.front();
  for (const ShownRun& run : request.runs) {
    check_classes(run, first);
    run.model.train(false);
    comparison.networks.push_back(run.name);
  }
  for (const VolumeInput& input : volume_inputs(request, first))
    comparison.volumes.push_back(compared(input, request, options));
  write(request, volume_comparison(comparison));
}

void draw_predictions(const FigureRequest& request, const PredictionsOptions& options) {
  const bool volumes = reads_of(request.runs.front()) == Reads::kVolumes;
  for (const ShownRun& run : request.runs)
    FOVEA_CHECK(
        (reads_of(run) == Reads::kVolumes) == volumes, ConfigError,
        fmt::format("{}: reads {}, {} reads {}; draw them apart", run.name, name_of(reads_of(run)),
                    request.runs.front().name, name_of(reads_of(request.runs.front()))));
  volumes ? draw_of_volumes(request, options) : draw_of_images(request, options);
}

FigureInfo predictions_info() {
  return {.help =
              "the samples with their truth and the segmentation of every run: contours of one "
              "foreground, colours of several classes; of volumes slices, with boxes where truth "
              "and runs differ",
          .files = {"predictions.png"},
          .fits = "segmentation of images or volumes",
          .misfit = [](const ShownRun& run) -> std::string {
            if (run.model.interface() != models::Interface::kDenseNetwork)
              return "is " + models::info_of(run.model.interface()).name;
            return reads_of(run) == Reads::kVolumes ? "" : unless_images(run);
          },
          .flag = true};
}

}  // namespace

FOVEA_FIGURE(predictions, predictions_info(), predictions_fields(), draw_predictions)

}  // namespace fovea::visualise
