#include "ops/detection/proposals.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "ops/detection/host_boxes.h"
#include "ops/detection/nms.h"
#include "ops/detection/top_k.h"

namespace fovea::ops {
namespace {

bool has_area(const Box& box) {
  return std::isfinite(box.area()) && box.width() > 0 && box.height() > 0;
}

}  // namespace

Proposals rpn_proposals(const std::vector<ProposalLevel>& levels, std::int64_t height,
                        std::int64_t width, const ProposalOptions& options) {
  FOVEA_CHECK(!levels.empty(), ShapeError, "rpn_proposals: no levels");
  const Device& host = levels.front().anchors.device();
  std::vector<float> sides, scores;
  std::vector<std::int64_t> groups;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const auto& [anchors, logits, deltas] = levels[level];
    const HostBoxes from("rpn_proposals", "anchors", anchors);
    const HostBoxes ways("rpn_proposals", "deltas", deltas);
    FOVEA_CHECK(ways.count() == from.count() && logits.shape() == Shape{from.count()} &&
                    logits.dtype() == DType::kFloat32,
                ShapeError,
                fmt::format("rpn_proposals: {} anchors, {} deltas and logits {} {}; expected as "
                            "many of each, logits float32 (n)",
                            from.count(), ways.count(), name_of(logits.dtype()),
                            to_string(logits.shape())));
    const std::vector<std::int64_t> best = top_k(logits.values<float>(), options.nms_pre);
    const Tensor decoded = decode_boxes(from.rows(best), ways.rows(best), options.coder);
    const Tensor clipped = clip_boxes(decoded, height, width);
    const HostBoxes boxes("rpn_proposals", "boxes", clipped);
    for (std::int64_t i = 0; i < boxes.count(); ++i) {
      if (!has_area(boxes[i])) continue;
      const float* at = clipped.data<float>() + 4 * i;
      sides.insert(sides.end(), at, at + 4);
      const float logit = logits.data<float>()[best[static_cast<std::size_t>(i)]];
      scores.push_back(1 / (1 + std::exp(-logit)));
      groups.push_back(static_cast<std::int64_t>(level));
    }
  }
  const Tensor all = Tensor::from(sides, {std::ssize(scores), 4}, host);
  const Tensor of_all = Tensor::from(scores, {std::ssize(scores)}, host);
  std::vector<std::int64_t> kept = batched_nms(all, of_all, groups, options.iou_threshold);
  if (options.most < std::ssize(kept)) kept.resize(static_cast<std::size_t>(options.most));
  std::vector<float> best;
  for (const std::int64_t i : kept) best.push_back(scores[static_cast<std::size_t>(i)]);
  return {HostBoxes("rpn_proposals", "boxes", all).rows(kept),
          Tensor::from(best, {std::ssize(best)}, host)};
}

}  // namespace fovea::ops
