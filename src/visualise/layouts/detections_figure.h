// Detections beside the truth, and where the network looks at the place of some of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/probe.h"
#include "visualise/drawing/canvas.h"
#include "visualise/layouts/detection.h"
#include "visualise/maps/heat_scale.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// What one block or stage has for one detection: weights over places, or over layers.
struct DetectionLook {
  DrawnObject object;
  std::string name;               // "1: cell 0.93", below the picture
  std::string layer = {};         // "layers.2.blocks.1, 15 × 20"
  attention::Probe::Place place;  // the middle of the box, in shares of the image
  Matrix weights = {};            // on the grid of the keys; without rows: there are none
  Quantity quantity = {};
  double even = 0;
  std::int64_t own = -1;  // the key of the place itself, which does not count for the colours
  std::vector<double> layers = {};  // shares of the layers of a stage, in place of weights
  bool carried = false;             // the first of them stands for what came before the others
};

struct DetectionsRow {
  std::string name;
  Canvas image;                         // as the network sees it
  std::int64_t height = 0, width = 0;   // without the zeros behind it, which are not drawn
  std::vector<DrawnObject> truth = {};  // boxes in pixels of the image, masks height x width
  bool has_truth = true;
  std::vector<DrawnObject> found = {};
  std::vector<DetectionLook> looks = {};
};

struct DetectionsFigure {
  std::string title;
  std::vector<std::string> classes;
  std::vector<DetectionsRow> rows;
  ColourMap sequential = kHeat;  // of quantities without sign
  bool smooth = false;           // as in heat_map()
  double overlay = 0.5;          // share of the image under a map
  std::int64_t factor = 1;       // enlargement
};

/// A row for each image: the truth (a hole for one without), what was found, and a picture for each
/// look: the weights over the image with its own colour bar below, the box, and a green square at
/// the place; or bars for the layers. Throws ShapeError for no rows, sizes that do not fit, and as
/// draw_objects().
Canvas render(const DetectionsFigure& figure);

}  // namespace fovea::visualise
