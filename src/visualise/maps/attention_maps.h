// From a trained network and its input to maps, rollouts and pictures of them. dgsa section 9.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "models/model.h"
#include "visualise/drawing/canvas.h"
#include "visualise/maps/heat_scale.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// What one network does with one image or text.
struct Observation {
  std::vector<AttentionMap> layers;     // in network order
  std::vector<double> logits;           // empty: the network has no head
  std::int64_t grid_h = 0, grid_w = 0;  // tokens of an image; 0 for a text
  std::int64_t prefix_tokens = 0;
  bool class_token = true;  // where there are any: the first is one

  std::int64_t prediction() const;
};

/// Runs the network in evaluation mode on one image (1, c, h, w), normalised as in training, or the
/// ids (1, n) of one text without padding. Throws ConfigError if its attention has no map over
/// tokens.
Observation observe(models::Model& model, const Tensor& input);

/// Weights of the patches or words: the class token's row of the rollout, or where there is none
/// the mean over the rows of all patches or words.
std::vector<double> token_weights(const Observation& seen, const RolloutOptions& options);

/// Height and width of the picture of a head: networks may have 24 of them beside each other.
std::array<std::int64_t, 2> head_size(const Canvas& image);

/// How heads are drawn.
struct HeadLook {
  HeatEnds ends = HeatEnds::kPercentiles;
  ColourMap sequential = kHeat;  // of maps without sign
  bool smooth = false;           // as in heat_map()
};

/// The class token's (or mean) row of every layer (rows) and head (columns). The heads of a layer
/// share their colours; a bar beside them has the numbers. `image` gives the size,
/// at most 128 pixels.
Canvas head_grid(const Observation& seen, bool signed_maps, const Canvas& image,
                 const std::string& title, const HeadLook& look);

/// An image (c, h, w) in [0, 1] as a picture: 3 channels in colour, of others the first in grey.
Canvas picture_of(const std::vector<float>& image, std::int64_t channels, std::int64_t height,
                  std::int64_t width);

}  // namespace fovea::visualise
