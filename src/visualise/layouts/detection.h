// Detections as pictures: boxes with class and score, and masks, on the image.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

/// An object of an image, in pixels of the image.
struct DrawnObject {
  std::array<double, 4> box{};  // x1 y1 x2 y2
  std::int64_t label = 0;       // from 0
  std::optional<double> score = {};
  std::vector<std::uint8_t> mask = {};  // (height, width), 1 = of the object; empty: it has none
};

/// The colour of objects of that class: class_colour(label + 1), since none is the background.
Colour object_colour(std::int64_t label);

/// The image, every pixel as factor x factor ones, with a frame around each object, a plate with
/// its class, where there are several, and its score, and its mask as a tint. The first objects lie
/// on top. Throws ShapeError for a class without a name, and for masks of another size than the
/// image's.
Canvas draw_objects(const Canvas& image, std::span<const DrawnObject> objects,
                    const std::vector<std::string>& classes, std::int64_t factor = 1);

/// One row of a grid. image: (channels, height, width) in [0, 1].
struct DetectedImage {
  std::string label;
  std::vector<float> image;
  std::int64_t channels = 3, height = 0, width = 0;
  std::vector<DrawnObject> truth, found;
};

/// Columns: truth and prediction. `factor` enlarges; 0 brings a picture to about 480 pixels. Throws
/// ShapeError for no images, and as draw_objects().
Canvas detection_grid(const std::string& title, const std::vector<std::string>& classes,
                      const std::vector<DetectedImage>& images, std::int64_t factor = 0);

}  // namespace fovea::visualise
