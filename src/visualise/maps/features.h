// What the layers of a network make of images, and pictures of it: the first three principal
// components of every patch as red, green and blue.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/model.h"
#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

/// What one layer makes of one image.
struct LayerFeatures {
  std::string layer;                    // "blocks.3", "layer2"
  std::int64_t grid_h = 0, grid_w = 0;  // patches, or positions of a map
  Tensor vectors;                       // (grid_h grid_w, dim) float64
};

/// Runs the network in evaluation mode on one image (1, c, h, w), normalised as in training. A
/// layer is a block of a Transformer, without class token, a stage of a ResNet or a level of a
/// U-Net. Throws ConfigError for a network whose layers record no features.
std::vector<LayerFeatures> observe_features(models::Model& model, const Tensor& image);

/// One layer's features of all images in common colours.
struct ComponentPictures {
  std::vector<double> variances, shares;  // of the three components
  std::vector<Canvas> pictures;           // one for each image
};

/// `images`: the same layer's features of every image. Components and colours are those of the
/// patches of all together; pictures have the given size, `smooth` as in heat_map(). Throws as
/// principal_components() does.
ComponentPictures component_pictures(std::span<const LayerFeatures> images, std::int64_t height,
                                     std::int64_t width, bool smooth);

}  // namespace fovea::visualise
