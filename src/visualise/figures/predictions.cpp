// Segmentations of several networks beside the truth. gdla section 9, figures 4 and 5.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "metrics/label_maps.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/layouts/prediction_figure.h"

namespace fovea::visualise {
namespace {

struct PredictionsOptions : ThicknessOption, FactorOption {};

const schema::Fields<PredictionsOptions>& predictions_fields() {
  static const auto fields =
      schema::Fields<PredictionsOptions>{}.include(thickness_field()).include(factor_field());
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

void draw_predictions(const FigureRequest& request, const PredictionsOptions& options) {
  const ShownRun& first = request.runs.front();
  const std::vector<ImageInput> inputs = image_inputs(request);
  PredictionFigure figure;
  for (const ShownRun& run : request.runs) figure.networks.push_back(run.name);
  figure.classes = first.samples.class_names();
  figure.background = first.samples.has_background();
  figure.thickness = options.thickness;
  figure.factor = options.enlargement(inputs[0].picture);
  const std::int64_t classes = std::ssize(figure.classes);
  for (const ImageInput& input : inputs) {
    FOVEA_CHECK(
        input.index, ConfigError,
        fmt::format("--predictions: {} has no truth; give the number of a sample", input.file));
    PredictionRow row{input.name, input.picture, {}, {}};
    for (const ShownRun& run : request.runs) {
      check_size(run, request);
      FOVEA_CHECK(run.samples.class_names() == figure.classes, ConfigError,
                  fmt::format("{}: has other classes than {}", run.name, first.name));
      const PixelClasses seen = run.pixel_classes(place_of(input, run, request));
      if (row.truth.empty()) row.truth = integers(seen.truth);
      row.predicted.push_back(integers(seen.predicted));
      request.say(
          fmt::format("{:<20} {:<20} Dice {}", run.name, input.name,
                      dice_text(row, row.predicted.size() - 1, classes, figure.background)));
    }
    figure.rows.push_back(std::move(row));
  }
  io::make_directories(request.out);
  write_png(request.out / "predictions.png", render(figure));
  request.say_files({"predictions.png"});
}

FigureInfo predictions_info() {
  return {.help =
              "the samples with their truth and the segmentation of every run: contours of one "
              "foreground, colours of several classes",
          .files = {"predictions.png"},
          .fits = "segmentation of images",
          .misfit = [](const ShownRun& run) -> std::string {
            if (run.model.interface() == models::Interface::kDenseNetwork)
              return unless_images(run);
            return "is " + models::info_of(run.model.interface()).name;
          },
          .flag = true};
}

}  // namespace

FOVEA_FIGURE(predictions, predictions_info(), predictions_fields(), draw_predictions)

}  // namespace fovea::visualise
