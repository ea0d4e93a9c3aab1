// Anchors of a pyramid, and what dense heads say of them: the part that RPN and RetinaNet share.
// mala 4.5.
#pragma once

#include <vector>

#include "models/detectors/detector.h"
#include "ops/detection/anchors.h"
#include "ops/detection/assign.h"
#include "ops/detection/boxes.h"

namespace fovea::models {

/// The anchors of an image, numbered over the levels: in each by row, column and anchor. Maps of a
/// dense head are (b, anchors * k, h, w), one a level: k numbers of every anchor.
class AnchorGrid {
 public:
  /// An anchor of an image of the batch.
  struct Place {
    std::int64_t image, anchor;
  };

  /// `maps` with any k: their sizes are read.
  AnchorGrid(const std::vector<Tensor>& maps, const std::vector<std::int64_t>& strides,
             const ops::AnchorOptions& options);

  std::int64_t size() const { return boxes_.size(0); }
  std::size_t levels() const { return levels_.size(); }
  /// The anchors [first, first + count) are those of a level.
  std::int64_t first(std::size_t level) const { return firsts_[level]; }
  std::int64_t count(std::size_t level) const { return firsts_[level + 1] - firsts_[level]; }
  /// (size(), 4) float32, on the host.
  const Tensor& boxes() const { return boxes_; }

  /// ops::assign_boxes of the anchors that count; all others are ignored. Those count whose cell
  /// lies in the image with sides rounded up to multiples of 32, as mmdet pads each image; with
  /// `inside_only` of these those that do not cross its border.
  std::vector<std::int64_t> assign(const DetectionTruth& truth, const ImageSize& size,
                                   const ops::AssignOptions& options, bool inside_only) const;
  /// The k numbers of each of these anchors: (n, k), with the gradient of the maps.
  Tensor at(const std::vector<Tensor>& maps, const std::vector<Place>& places,
            std::int64_t k) const;
  /// The k numbers of all anchors of a level, image by image: (b * anchors of the level, k).
  Tensor rows_of(const Tensor& map, std::int64_t k) const;

 private:
  struct Level {
    std::int64_t h, w, stride;
  };
  std::vector<std::int64_t> counted(const ImageSize& size, bool inside_only) const;
  std::size_t level_of(std::int64_t anchor) const;

  std::vector<Level> levels_;
  std::int64_t per_cell_;
  std::vector<std::int64_t> firsts_;  // of each level, and behind them size()
  Tensor boxes_;
};

}  // namespace fovea::models
