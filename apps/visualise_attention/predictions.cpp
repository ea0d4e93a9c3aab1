#include "visualise_attention/predictions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "metrics/label_maps.h"
#include "visualise/layouts/prediction_figure.h"
#include "visualise_attention/image_inputs.h"
#include "visualise_attention/subject.h"

namespace fovea::apps {
namespace {

using visualise::PredictionRow;

std::vector<std::int64_t> integers(const Tensor& classes) {
  const auto values = classes.host_values<std::int64_t>();
  return {values.begin(), values.end()};
}

// Mean over the foreground classes in truth or prediction, in percent.
double dice_of(const PredictionRow& row, std::size_t network, std::int64_t classes) {
  metrics::ConfusionMatrix confusion(std::max<std::int64_t>(2, classes));
  confusion.add(row.truth, row.predicted[network], data::kIgnoreLabel);
  return 100 * metrics::class_mean(metrics::class_dice(metrics::class_counts(confusion)), 1,
                                   metrics::Empty::kOne);
}

}  // namespace

void draw_predictions(const Arguments& args, const Common& common) {
  visualise::PredictionFigure figure;
  figure.networks = folder_names(args);
  std::vector<experiment::Opened> runs = open_runs(args);
  for (std::size_t i = 0; i < figure.networks.size(); ++i) {
    FOVEA_CHECK(runs[i].run->model().interface() == models::Interface::kDenseNetwork, ConfigError,
                fmt::format("--predictions: {} is {}; expected segmentation", figure.networks[i],
                            models::info_of(runs[i].run->model().interface()).name));
  }
  const data::ImageDataset& first = images_of(*runs[0].run, args);
  const std::vector<ImageInput> inputs = image_inputs(args, first, figure.networks[0]);
  figure.classes = first.class_names();
  figure.thickness = args.thickness;
  figure.factor = enlargement(args, inputs[0].picture);
  const std::int64_t classes = std::ssize(figure.classes);
  for (const ImageInput& input : inputs) {
    FOVEA_CHECK(
        input.index, ConfigError,
        fmt::format("--predictions: {} has no truth; give the number of a sample", input.file));
    PredictionRow row{input.name, input.picture, {}, {}};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      experiment::Run& run = *runs[i].run;
      const std::string& name = figure.networks[i];
      const data::ImageDataset& own = images_of(run, args);
      check_size(own, first, name, figure.networks[0]);
      FOVEA_CHECK(own.class_names() == figure.classes, ConfigError,
                  fmt::format("{}: has other classes than {}", name, figure.networks[0]));
      run.model().train(false);
      const auto seen =
          run.task().pixel_classes(split_of(args, run), place_of(input, own, first, name));
      if (i == 0) row.truth = integers(seen.truth);
      row.predicted.push_back(integers(seen.predicted));
      if (!common.quiet)
        fmt::print("{:<20} {:<20} Dice {:.2f} %\n", name, input.name, dice_of(row, i, classes));
    }
    figure.rows.push_back(std::move(row));
  }
  const io::fs::path out = args.out;
  io::make_directories(out);
  visualise::write_png(out / "predictions.png", visualise::render(figure));
  if (!common.quiet) fmt::print("{}\n", (out / "predictions.png").string());
}

}  // namespace fovea::apps
