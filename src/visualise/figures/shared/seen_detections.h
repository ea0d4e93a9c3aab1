// Inside of detections.cpp: what a run finds in an image, and the maps of the places.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/layouts/detection.h"
#include "visualise/maps/detection_maps.h"
#include "visualise/pages/explorer.h"

namespace fovea::visualise {

struct DetectionsOptions : ColoursOption,
                           SmoothOption,
                           OverlayOption,
                           FactorOption,
                           LayerOption,
                           ExplorerOption {
  std::vector<std::int64_t> detection;
  std::int64_t best = 3;
  double least_score = 0.3;
};

/// "cell 0.93".
std::string object_text(const DrawnObject& object, const std::vector<std::string>& classes);
/// "layers.2.blocks.1" of "backbone.layers.2.blocks.1".
std::string short_block(const std::string& name);

/// One image as one run sees it.
struct SeenImage {
  Tensor image;  // (1, c, h, w)
  std::vector<DrawnObject> found;
  models::Detections detections;     // of these, and of those with lower scores behind them
  std::vector<LayerWeights> layers;  // of a network with layer attention
  /// Of a network with attention over tokens, from the places of the detections that are shown.
  std::map<std::size_t, std::vector<PlaceAttention>> blocks;

  bool shows_maps() const { return !blocks.empty() || !layers.empty(); }
  attention::Probe::Place place(std::size_t detection) const {
    return middle_of(detections.boxes, static_cast<std::int64_t>(detection), image);
  }
  std::size_t block_of(std::size_t detection) const {
    return block_of_level(blocks.at(detection), image.size(2), detections.strides[detection]);
  }
  std::size_t stage_of(std::size_t detection) const {
    return stage_of_level(layers, image.size(2), detections.strides[detection]);
  }
};

/// The detections of an image whose maps are drawn, those that it has.
std::vector<std::size_t> chosen_of(const SeenImage& seen, const DetectionsOptions& options);

/// Maps are those of chosen_of() and, unless options.no_explorer, those of the page.
SeenImage seen_image(const ImageInput& input, const ShownRun& run, const FigureRequest& request,
                     const DetectionsOptions& options);

/// Of sample `index` of a run, crowds too.
std::vector<DrawnObject> true_objects(std::int64_t index, const ShownRun& run);

/// So many detections of an image are in explorer.html at most.
inline constexpr std::size_t kMostExplored = 20;
ExplorerModel explorer_model(const SeenImage& seen, const ShownRun& run);

}  // namespace fovea::visualise
