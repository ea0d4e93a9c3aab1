// What the blocks of a decoder do with the tokens of an image: the maps of gdla's figures 6 to 8.
// gdla section 9.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/model.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// One block for one image. Tokens are (n, dim), row by row of the grid.
struct DecoderStage {
  std::string name;  // "de1", the coarsest
  std::int64_t grid_h = 0, grid_w = 0;
  Matrix input;   // what enters the block, before its first norm
  Matrix update;  // what its attention adds
  Matrix output;  // what it hands on
};

/// Runs the network in evaluation mode on one image (1, c, h, w), normalised as in training; no
/// attention map is made. Throws ConfigError for a network whose blocks record no "block_input" and
/// "attn_delta".
std::vector<DecoderStage> observe_stages(models::Model& model, const Tensor& image);

/// L2 norm over the channels of every token: tokens (n, dim) -> (grid_h, grid_w). Of the input it
/// is the token-norm map, of the update its magnitude. Throws ShapeError unless n is that of the
/// grid.
Matrix token_norms(const Matrix& tokens, std::int64_t grid_h, std::int64_t grid_w);

/// A map as it is shown: from its least to its largest value, at its own size, then enlarged
/// (upsample_bilinear) to the image's.
Matrix shown_map(const Matrix& map, std::int64_t height, std::int64_t width);

/// One map as it is shown minus another, in [-1, 1]. Throws ShapeError if their sizes differ.
Matrix shown_difference(const Matrix& map, const Matrix& minus, std::int64_t height,
                        std::int64_t width);

/// The channel saliency map of figure 7, for which text and caption give two readings: root mean
/// square over the channels of every token (n), and over the tokens of every channel (dim).
std::vector<double> token_saliency(const Matrix& tokens);
std::vector<double> channel_saliency(const Matrix& tokens);

/// r[0] / mean(r): how much of the saliency lies on the first token, 1 where it is as the others.
/// Far above 1 the token is an attention sink. Throws ShapeError for no values.
double first_token_ratio(std::span<const double> saliency);

}  // namespace fovea::visualise
