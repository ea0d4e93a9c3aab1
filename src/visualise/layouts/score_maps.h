// Where one patch looks in one layer: its row of the matrix of scores, over the image, networks
// side by side. mala section 9, figures 3, 4 and 7.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"
#include "visualise/drawing/canvas.h"
#include "visualise/drawing/colour_map.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// What the query scores in one layer, mean over the heads, on the grid of the keys; class and
/// register tokens are left out.
struct ScoreMap {
  std::string layer;                    // "blocks.3", "mean of 12 layers"
  std::int64_t grid_h = 0, grid_w = 0;  // of the queries
  Matrix scores;
};

/// The maps of all layers for one image (1, c, h, w), normalised as in training, and the patch that
/// covers `place`. Throws ConfigError for a network without attention over tokens.
std::vector<ScoreMap> score_maps(models::Model& model, const Tensor& image,
                                 attention::Probe::Place place);
/// Throws ConfigError unless all have one grid.
ScoreMap mean_of(const std::vector<ScoreMap>& layers);

enum class ScoreScale {
  kMinMax,  // each picture from its least to its largest score
  kRowSum,  // scores over their sum; the pictures of one image have common colours
};
/// minmax, rowsum. Throws ConfigError for other names.
ScoreScale score_scale_from_name(std::string_view name);

struct ScoreColumn {
  std::string name;
  std::vector<ScoreMap> maps;  // one for each image
};

struct ScoreFigure {
  std::string title;
  std::vector<std::string> names;  // of the images
  std::vector<Canvas> inputs;
  std::vector<attention::Probe::Place> places;  // of the query in each
  std::vector<ScoreColumn> columns;
  ScoreScale scale = ScoreScale::kMinMax;
  ColourMap colours = ColourMap::kJet;
  double overlay = 0.5;     // share of the image in the picture
  std::int64_t factor = 1;  // enlargement
};

/// A row for each image; scores between patches are blended (bilinear), the query's patch is framed
/// in red. Throws ShapeError if there is no image or column, or sizes do not fit.
Canvas render(const ScoreFigure& figure);

}  // namespace fovea::visualise
