// Region proposal network: where objects of any class may be. mala 4.5, kcla 5.3; names are
// mmdet's.
#pragma once

#include <array>
#include <vector>

#include "models/detectors/anchor_grid.h"
#include "nn/convolution.h"
#include "ops/detection/proposals.h"

namespace fovea::models {

struct RpnOptions {
  std::int64_t feat_channels = 256;
  std::vector<double> scales = {8};
  std::vector<double> ratios = {0.5, 1, 2};
  double pos_iou_thr = 0.7, neg_iou_thr = 0.3, min_pos_iou = 0.3;
  bool inside_only = false;
  std::int64_t num_samples = 256;
  double positive_fraction = 0.5;
  double smooth_l1_beta = 0;
  std::int64_t nms_pre_train = 2000, nms_pre = 1000;
  std::int64_t max_per_img_train = 1000, max_per_img = 1000;
  double nms_iou_thr = 0.7;
};
schema::Fields<RpnOptions> rpn_fields();

/// Levels (b, in, h, w) -> maps of logits (b, anchors, h, w), one a level, and behind these maps of
/// deltas (b, 4 anchors, h, w). Names: rpn_conv, rpn_cls, rpn_reg.
class RpnHead final : public nn::Module {
 public:
  /// `strides` of the levels.
  RpnHead(const nn::Build& build, std::int64_t in_channels, std::vector<std::int64_t> strides,
          const RpnOptions& options);
  std::string type() const override { return "RPNHead"; }
  std::vector<Tensor> operator()(const std::vector<Tensor>& levels);

  /// loss_rpn_cls: binary cross-entropy of sampled anchors; loss_rpn_bbox: L1 or smooth L1 of the
  /// deltas of the positive ones; both over the number of positive and negative ones of the batch,
  /// where each image counts at least one of either.
  Detector::Losses losses(const std::vector<Tensor>& maps, const std::vector<ImageSize>& sizes,
                          const std::vector<DetectionTruth>& truth);
  /// Those of each image, on the host, as many as training or a test takes.
  std::vector<ops::Proposals> proposals(const std::vector<Tensor>& maps,
                                        const std::vector<ImageSize>& sizes,
                                        bool for_training) const;

 private:
  AnchorGrid grid_of(const std::vector<Tensor>& maps) const;

  RpnOptions o_;
  std::vector<std::int64_t> strides_;
  nn::Conv2d* rpn_conv_ = nullptr;
  nn::Conv2d* rpn_cls_ = nullptr;
  nn::Conv2d* rpn_reg_ = nullptr;
};

}  // namespace fovea::models
