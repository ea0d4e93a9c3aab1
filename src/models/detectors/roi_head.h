// The second stage of two-stage detectors: classes, boxes and masks of proposed regions, in one
// stage (Faster and Mask R-CNN) or in several, each of which moves the regions for the next
// (Cascade R-CNN). mala 4.5; names are mmdet's.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "models/detectors/bbox_head.h"
#include "models/detectors/mask_head.h"
#include "models/detectors/roi_samples.h"
#include "ops/detection/boxes.h"

namespace fovea::models {

/// How losses of boxes are taken.
enum class BoxLoss {
  kL1,    // of the deltas
  kGiou,  // ten times the generalised overlap of the decoded boxes
};

struct RoiHeadOptions {
  std::vector<double> iou_thrs = {0.5};     // of positive and negative regions, one a stage
  std::vector<double> stage_weights = {1};  // of the losses
  bool low_quality = true;                  // each object has a positive region
  std::int64_t num_samples = 512;
  double positive_fraction = 0.25;
  double finest_scale = 56;
  std::int64_t fc_channels = 1024;
  std::int64_t head_conv_channels = 256;
  std::int64_t bbox_side = 7, mask_side = 14;
  double score_thr = 0.05, nms_iou_thr = 0.5;
  std::int64_t max_per_img = 100;
  // Of the kind of detector.
  bool cascade = false;  // names with the number of the stage, and its heads
  bool masks = false;
};
schema::Fields<RoiHeadOptions> roi_head_fields(const RoiHeadOptions& defaults);

/// Names: bbox_head, mask_head; of a cascade bbox_head.{s}, mask_head.{s}.
class RoiHead final : public nn::Module {
 public:
  /// `strides` of the levels that regions are cut out of. Throws ConfigError where the options do
  /// not have a number for each stage.
  RoiHead(const nn::Build& build, std::int64_t in_channels, std::int64_t num_classes,
          const std::vector<std::int64_t>& strides, const RoiHeadOptions& options);
  std::string type() const override { return o_.cascade ? "CascadeRoIHead" : "StandardRoIHead"; }

  /// Of each stage, times its weight: loss_cls, cross-entropy over the number of sampled regions;
  /// loss_bbox, of the positive ones' boxes, over the number of all; loss_mask, the mean binary
  /// cross-entropy of the positive ones' pixels in the map of their class. In a cascade
  /// "s0.loss_cls". `levels` (b, in, h, w); proposals (n, 4) of each image, on the host.
  Detector::Losses losses(const std::vector<Tensor>& levels, const std::vector<ImageSize>& sizes,
                          const std::vector<DetectionTruth>& truth, std::vector<Tensor> proposals);
  /// What is found in an image of the batch.
  Detections detections(const std::vector<Tensor>& levels, std::int64_t image,
                        const ImageSize& size, const Tensor& proposals);
  /// Puts empty regions through the heads of every stage, and returns what these put out: as many
  /// of each image as a test takes at most, `proposals` boxes and max_per_img masks, or, in
  /// training mode, num_samples boxes of which the positive ones have masks.
  std::vector<Tensor> forward_dummy(const std::vector<Tensor>& levels, std::int64_t proposals);

 private:
  struct Stage {
    BBoxHead& bbox;
    MaskHead* mask;
    ops::BoxCoder coder;
    RoiSamplingOptions sampling;
    double weight;
  };
  // A batch in a stage.
  struct Batch {
    std::vector<RoiSamples> samples;  // of its images
    BBoxHead::Outputs out;
  };
  Tensor cut_out(const std::vector<Tensor>& levels, const Tensor& rois, std::int64_t side) const;
  Tensor bbox_loss(const Stage& stage, const Batch& batch,
                   const std::vector<DetectionTruth>& truth) const;
  Tensor mask_loss(const Stage& stage, const std::vector<Tensor>& levels, const Batch& batch,
                   const std::vector<DetectionTruth>& truth) const;
  std::vector<Tensor> refined(const Stage& stage, const Batch& batch,
                              const std::vector<ImageSize>& sizes) const;
  Tensor masks_of(const std::vector<Tensor>& levels, const Tensor& rois, const Tensor& labels);

  RoiHeadOptions o_;
  std::int64_t num_classes_;
  std::vector<double> strides_;
  std::vector<Stage> stages_;
};

}  // namespace fovea::models
