// Where a network looks at the place of a detection: attention in the stage whose level of the
// pyramid found it. mala 4.5, kcla 3.4.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/detectors/detector.h"
#include "visualise/maps/rollouts/grid_rollout.h"

namespace fovea::visualise {

/// What a detector finds in one image (1, c, h, w), normalised as in training, of which `size` is
/// without the zeros behind it.
models::Detections detections_in(models::Detector& detector, const Tensor& image,
                                 const models::ImageSize& size);

/// The middle of box i of (n, 4) in shares of the image, held inside it.
attention::Probe::Place middle_of(const Tensor& boxes, std::int64_t i, const Tensor& image);

/// The attention of one block, from the token at a place.
struct PlaceAttention {
  std::string block;                    // "backbone.layers.2.blocks.1"
  std::int64_t grid_h = 0, grid_w = 0;  // of its tokens
  std::int64_t keys_h = 0, keys_w = 0;  // coarser where the block reduces them
  std::int64_t query = 0;               // number of the token
  std::int64_t heads = 0;
  std::vector<double> weights;  // (heads, keys)
  bool is_signed = false;       // weights may be negative

  std::int64_t keys() const { return keys_h * keys_w; }
  /// The token's own, -1 where keys stand for several tokens.
  std::int64_t own_key() const { return keys() == grid_h * grid_w ? query : -1; }
  /// Over the heads.
  std::vector<double> mean() const;
};

/// Of all blocks, in the order of the network; none of a network without attention over tokens.
std::vector<PlaceAttention> attention_at(models::Model& model, const Tensor& image,
                                         attention::Probe::Place place);

/// The number of the block that a level of the pyramid with this stride reads: the last one of the
/// coarsest grid that is no coarser than the level. Levels behind the last stage are made of it;
/// where all are coarser it is the first grid.
std::size_t block_of_level(std::span<const PlaceAttention> blocks, std::int64_t image_h,
                           std::int64_t stride);

/// What the last layer of a stage of a ResNet takes from the layers up to it. These weights hold
/// for the whole image.
struct LayerWeights {
  std::string stage;                    // "backbone.layer3"
  std::int64_t grid_h = 0, grid_w = 0;  // of its map
  std::int64_t heads = 0, layers = 0;
  std::vector<double> weights;  // (heads, layers), rows sum to 1
  bool carried = false;         // the first one stands for what came before the others

  std::vector<double> mean() const;
};

/// Of every stage, in the order of the network; none for a network whose layer attention has no
/// weights of layers, or that has no layer attention.
std::vector<LayerWeights> layer_weights(models::Model& model, const Tensor& image);
/// As block_of_level(). `stages` must not be empty.
std::size_t stage_of_level(std::span<const LayerWeights> stages, std::int64_t image_h,
                           std::int64_t stride);

}  // namespace fovea::visualise
