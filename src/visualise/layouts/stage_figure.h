// Figures of what decoders do with tokens, networks side by side. gdla section 9, figures 6 to 8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"
#include "visualise/maps/stage_maps.h"

namespace fovea::visualise {

/// A network with its stages, the coarsest first.
struct StagedNetwork {
  std::string name;
  std::vector<DecoderStage> stages;
};

/// What is drawn for one image.
struct StageFigure {
  std::string title;
  Canvas input;
  Canvas truth;  // without pixels: none
  std::vector<StagedNetwork> networks;
  std::vector<std::int64_t> stages;  // drawn, counted from 1
  std::int64_t factor = 1;           // enlargement
};

/// Figures 6 and 8: a row for each stage; beside the image the token norms of the input, the
/// magnitudes of the update, or both, of every network, each from its least to its largest value;
/// then the update of network `compare` minus that of every other one, as shown. Throws ConfigError
/// for stages that a network does not have or that differ in their grids.
struct MapKinds {
  bool norms = false, updates = true;
  std::optional<std::size_t> compare;
};
Canvas render_maps(const StageFigure& figure, const MapKinds& kinds);

/// Figure 7: a row for each stage and network with the token saliency over the image and in the
/// order of the tokens, and that of the channels; beside it the share of the first token. Throws as
/// render_maps().
Canvas render_saliency(const StageFigure& figure);

/// Values from their least to their largest as colours, in their order from left to right. Where
/// there are more values than columns a pixel shows the largest of its own.
Canvas strip_of(const std::vector<double>& values, std::int64_t width, std::int64_t height);

/// "S1 de1, 14 x 14".
std::string title_of(const DecoderStage& stage, std::int64_t number);

}  // namespace fovea::visualise
