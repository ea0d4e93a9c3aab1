// From a trained network and its input to maps, rollouts and pictures of them. dgsa section 9.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"
#include "visualise/canvas.h"
#include "visualise/rollout.h"

namespace fovea::visualise {

/// What one network does with one image or text.
struct Observation {
  std::vector<AttentionMap> layers;  // in network order
  std::vector<double> logits;
  std::int64_t grid_h = 0, grid_w = 0;  // tokens of an image; 0 for a text
  std::int64_t prefix_tokens = 0;

  std::int64_t prediction() const;
};

/// Runs the network in evaluation mode on one image (1, c, h, w), normalised as in training, or the
/// ids (1, n) of one text without padding. Throws ConfigError if its attention has no map over
/// tokens.
Observation observe(models::Model& model, const Tensor& input);

/// Weights of the patches or words: the class token's row of the rollout, or the mean over all rows
/// where there is no class token.
std::vector<double> token_weights(const Observation& seen, const RolloutOptions& options);

/// The class token's (or mean) row of every layer (rows) and head (columns). The heads of a layer
/// share their colours, from 0 or, for signed maps, around 0; a bar beside them has the numbers.
/// `image` gives the size; `smooth` as in heat_map().
Canvas head_grid(const Observation& seen, bool signed_maps, const Canvas& image,
                 const std::string& title, bool smooth);

/// An image (c, h, w) in [0, 1] with 1 or 3 channels as a picture.
Canvas picture_of(const std::vector<float>& image, std::int64_t channels, std::int64_t height,
                  std::int64_t width);

}  // namespace fovea::visualise
