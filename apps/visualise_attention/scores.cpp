#include "visualise_attention/scores.h"

#include <fmt/format.h>

#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"
#include "visualise/layouts/score_maps.h"
#include "visualise/maps/heat_scale.h"
#include "visualise_attention/image_inputs.h"
#include "visualise_attention/subject.h"

namespace fovea::apps {
namespace {

using visualise::ScoreColumn;
using visualise::ScoreMap;

// The layers that --layer names, or their mean; without it the last.
std::vector<ScoreMap> chosen_maps(const std::vector<ScoreMap>& layers, const Arguments& args,
                                  const std::string& run) {
  if (args.layers.empty()) return {layers.back()};
  std::vector<std::string> names;
  for (const ScoreMap& layer : layers) names.push_back(layer.layer);
  std::vector<ScoreMap> chosen;
  for (const std::string& wanted : args.layers) {
    chosen.push_back(wanted == "mean" ? visualise::mean_of(layers)
                                      : layers[layer_place(names, wanted, run)]);
  }
  return chosen;
}

std::string score_lines(const ScoreMap& map, const std::string& run, const std::string& input) {
  std::string csv;
  for (std::int64_t y = 0; y < map.scores.rows; ++y) {
    for (std::int64_t x = 0; x < map.scores.cols; ++x) {
      csv += fmt::format("{},{},{},{},{},{}\n", csv_field(run), csv_field(input), map.layer, y, x,
                         map.scores.at(y, x));
    }
  }
  return csv;
}

}  // namespace

void draw_scores(const Arguments& args, const Common& common) {
  const std::vector<std::string> names = folder_names(args);
  std::vector<experiment::Opened> runs = open_runs(args);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    FOVEA_CHECK(runs[r].run->model().interface() != models::Interface::kTextClassifier, ConfigError,
                fmt::format("--scores: {} reads texts; expected a network of images", names[r]));
  }
  const data::ImageDataset& first = images_of(*runs[0].run, args);
  const std::vector<ImageInput> inputs = image_inputs(args, first, names[0]);
  visualise::ScoreFigure figure;
  figure.title = "what the framed patch scores, mean over heads";
  figure.scale =
      visualise::score_scale_from_name(args.normalise.empty() ? "minmax" : args.normalise);
  if (!args.colours.empty()) figure.colours = visualise::sequential_from_name(args.colours);
  if (args.overlay >= 0) figure.overlay = args.overlay;
  const visualise::Canvas& picture = inputs[0].picture;
  figure.factor = args.factor > 0
                      ? args.factor
                      : std::max<std::int64_t>(1, 224 / std::max(picture.height, picture.width));
  for (const ImageInput& input : inputs) {
    figure.names.push_back(input.name);
    figure.inputs.push_back(input.picture);
    figure.places.push_back(place_of_query(args, input.picture));
  }
  std::string csv = "run,input,layer,row,column,score\n";
  for (std::size_t r = 0; r < runs.size(); ++r) {
    experiment::Run& run = *runs[r].run;
    const data::ImageDataset& own = images_of(run, args);
    check_size(own, first, names[r], names[0]);
    std::vector<ScoreColumn> columns(std::max<std::size_t>(1, args.layers.size()), {names[r], {}});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor x = prepared(inputs[i], own, first, names[r], run.device());
      const auto maps =
          chosen_maps(visualise::score_maps(run.model(), x, figure.places[i]), args, names[r]);
      for (std::size_t k = 0; k < maps.size(); ++k) {
        csv += score_lines(maps[k], names[r], inputs[i].name);
        columns[k].maps.push_back(maps[k]);
      }
    }
    figure.columns.insert(figure.columns.end(), columns.begin(), columns.end());
    if (!common.quiet) fmt::print("{:<20} {}\n", names[r], weights_text(runs[r].weights));
  }
  const io::fs::path out = args.out;
  io::make_directories(out);
  visualise::write_png(out / "scores.png", visualise::render(figure));
  io::write_atomic(out / "scores.csv", csv);
  if (common.quiet) return;
  for (const char* file : {"scores.png", "scores.csv"}) fmt::print("{}\n", (out / file).string());
}

}  // namespace fovea::apps
