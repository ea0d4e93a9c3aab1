// Where one patch looks in one layer, runs side by side. mala section 9, figures 3, 4 and 7.
#include <fmt/format.h>

#include <algorithm>

#include "base/csv_field.h"
#include "base/file.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/layouts/score_maps.h"

namespace fovea::visualise {
namespace {

struct ScoresOptions : QueryOption, LayerOption, OverlayOption, FactorOption {
  std::string normalise = "minmax";
  std::string colours = "jet";
};

const schema::Fields<ScoresOptions>& scores_fields() {
  static const auto fields =
      schema::Fields<ScoresOptions>{}
          .include(query_field())
          .include(layer_field("the last; mean: the mean over all"))
          .add("normalise", &ScoresOptions::normalise, words({"minmax", "rowsum"}),
               "each picture from its least to its largest score (minmax, the default), or shares "
               "of the sum in common colours (rowsum)")
          .add("colours", &ScoresOptions::colours, palettes(), "of the scores (default: jet)")
          .include(overlay_field())
          .include(factor_field());
  return fields;
}

// The layers that --layer names, or their mean; without it the last.
std::vector<ScoreMap> chosen_maps(const std::vector<ScoreMap>& layers, const ScoresOptions& options,
                                  const std::string& run) {
  if (options.layer.empty()) return {layers.back()};
  std::vector<std::string> names;
  for (const ScoreMap& layer : layers) names.push_back(layer.layer);
  std::vector<ScoreMap> chosen;
  for (const std::string& wanted : options.layer)
    chosen.push_back(wanted == "mean" ? mean_of(layers) : layers[layer_place(names, wanted, run)]);
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

void draw_scores(const FigureRequest& request, const ScoresOptions& options) {
  const std::vector<ImageInput> inputs = image_inputs(request);
  ScoreFigure figure;
  figure.title = "what the framed patch scores, mean over heads";
  figure.scale = score_scale_from_name(options.normalise);
  figure.colours = sequential_from_name(options.colours);
  if (options.overlay) figure.overlay = *options.overlay;
  figure.factor = options.enlargement(inputs[0].picture, 224);
  for (const ImageInput& input : inputs) {
    figure.names.push_back(input.name);
    figure.inputs.push_back(input.picture);
    figure.places.push_back(options.place_in(input.picture));
  }
  std::string csv = "run,input,layer,row,column,score\n";
  for (const ShownRun& run : request.runs) {
    check_size(run, request);
    std::vector<ScoreColumn> columns(std::max<std::size_t>(1, options.layer.size()),
                                     {run.name, {}});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor x = prepared(inputs[i], run, request);
      const auto maps = chosen_maps(score_maps(run.model, x, figure.places[i]), options, run.name);
      for (std::size_t k = 0; k < maps.size(); ++k) {
        csv += score_lines(maps[k], run.name, inputs[i].name);
        columns[k].maps.push_back(maps[k]);
      }
    }
    figure.columns.insert(figure.columns.end(), columns.begin(), columns.end());
    request.say(fmt::format("{:<20} {}", run.name, run.weights));
  }
  io::make_directories(request.out);
  write_png(request.out / "scores.png", render(figure));
  io::write_atomic(request.out / "scores.csv", csv);
  request.say_files({"scores.png", "scores.csv"});
}

FigureInfo scores_info() {
  return {.help =
              "what the patch at --query scores in a layer, mean over heads, over the images, runs "
              "side by side",
          .files = {"scores.png", "scores.csv"},
          .fits = "a network of images with attention over tokens",
          .misfit = unless_images,
          .network =
              [](const ShownRun& run) {
                return can([&] { score_maps(run.model, first_sample(run), {0.5, 0.5}); });
              },
          .flag = true};
}

}  // namespace

FOVEA_FIGURE(scores, scores_info(), scores_fields(), draw_scores)

}  // namespace fovea::visualise
