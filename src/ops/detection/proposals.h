// What a region proposal network proposes. A loop of the host, as all of boxes.h. mala 4.5.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/detection/boxes.h"

namespace fovea::ops {

struct ProposalOptions {
  std::int64_t nms_pre = 2000;  // boxes of a level that are looked at, the best ones
  double iou_threshold = 0.7;
  std::int64_t most = 1000;
  BoxCoder coder = {};
};

/// Boxes inside the image and their scores in [0, 1], the highest first.
struct Proposals {
  Tensor boxes;   // (n, 4)
  Tensor scores;  // (n)
};

/// Of a level: anchors (m, 4), their logits (m) and deltas (m, 4).
struct ProposalLevel {
  Tensor anchors, logits, deltas;
};

/// Of one image of height x width pixels: of each level the best boxes are decoded, clipped to the
/// image and suppressed among themselves (batched_nms); of all levels the `most` best are kept.
/// Boxes that are left without an area or are not finite are no proposals (as with mmdet's
/// min_bbox_size of 0).
Proposals rpn_proposals(const std::vector<ProposalLevel>& levels, std::int64_t height,
                        std::int64_t width, const ProposalOptions& options);

}  // namespace fovea::ops
