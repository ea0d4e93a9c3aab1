// Networks that find objects: an image to boxes with classes and scores, and masks where their
// heads make them. A detector is one source file in this room and one line in models.def. mala 4.5.
//
// Its forward pass runs backbone, neck and the dense head (`Outputs::maps`), whose results hold for
// every place, and keeps the levels that a second stage reads (`Outputs::features`). Truth and
// sizes of images come only when losses or boxes are asked for, so that the forward pass is that of
// any network: it can be profiled, counted and run on the meta device.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "models/image_options.h"

namespace fovea::models {

/// What an image holds, on the host.
struct DetectionTruth {
  Tensor boxes;   // (n, 4) float32, x1 y1 x2 y2 in pixels of the image
  Tensor labels;  // (n) int64
  Tensor masks;   // (n, h, w) uint8, of the image's size; undefined where there are none
  Tensor crowds;  // (m, 4) float32, regions that are neither objects nor background
};

/// What was found in an image, on the host, the highest score first.
struct Detections {
  Tensor boxes;   // (n, 4) float32, inside the image
  Tensor scores;  // (n) float32 in [0, 1]
  Tensor labels;  // (n) int64
  Tensor masks;  // (n, side, side) float32, probabilities in the box; undefined without a mask head
  std::vector<std::int64_t> strides = {};  // of the pyramid's level that each was found on
};

/// Height and width of an image of a batch, without the zeros behind it.
using ImageSize = std::array<std::int64_t, 2>;

class Detector : public ModelOf<Interface::kDetector> {
 public:
  /// Whether it makes masks, and so learns from them.
  virtual bool makes_masks() const { return false; }

  /// Its losses by name, scalars with gradients recorded, whose sum is to be minimised: means as in
  /// mala 4.5. An image may hold nothing; boxes of no area are left out. Samples are drawn from the
  /// randomness of the pass. Throws ShapeError where truth does not fit the batch, or has no masks
  /// and needs them.
  using Losses = std::vector<std::pair<std::string, Tensor>>;
  Losses losses(const Outputs& out, const std::vector<ImageSize>& sizes,
                const std::vector<DetectionTruth>& truth) {
    const auto scope = enter();
    return losses_of(out, sizes, truth);
  }
  /// What it finds in each image. Recording of gradients and the mode are the caller's.
  std::vector<Detections> detect(const Outputs& out, const std::vector<ImageSize>& sizes) {
    const auto scope = enter();
    return detections(out, sizes);
  }

 protected:
  virtual Losses losses_of(const Outputs& out, const std::vector<ImageSize>& sizes,
                           const std::vector<DetectionTruth>& truth) = 0;
  virtual std::vector<Detections> detections(const Outputs& out,
                                             const std::vector<ImageSize>& sizes) = 0;
};

}  // namespace fovea::models
