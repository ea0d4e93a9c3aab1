// Faster R-CNN, Mask R-CNN, Cascade R-CNN and Cascade Mask R-CNN over any backbone. mala 4.5, kcla
// 3.4; names are mmdet's.

#include "models/detectors/pyramid_detector.h"
#include "models/detectors/roi_head.h"
#include "models/detectors/rpn_head.h"
#include "models/detectors/truth.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::Detections;
using models::DetectionTruth;
using models::ImageSize;
using models::Outputs;

struct TwoStageOptions : models::DetectorOptions {
  models::RpnOptions rpn;
  models::RoiHeadOptions rcnn;
};

class TwoStageDetector final : public models::PyramidDetector {
 public:
  TwoStageDetector(const nn::Build& build, const TwoStageOptions& o, const DataShape& data)
      : PyramidDetector(build, o, data, {}),
        masks_(o.rcnn.masks),
        cascade_(o.rcnn.cascade),
        proposals_(o.rpn.max_per_img),
        rpn_head_(child<models::RpnHead>("rpn_head", build, o.fpn_channels, strides(), o.rpn)),
        // The coarsest level, which the neck adds, is for proposals alone.
        roi_head_(child<models::RoiHead>(
            "roi_head", build, o.fpn_channels, num_classes(),
            std::vector<std::int64_t>(strides().begin(), strides().end() - 1), o.rcnn)) {}
  std::string type() const override {
    if (cascade_) return "CascadeRCNN";
    return masks_ ? "MaskRCNN" : "FasterRCNN";
  }
  bool makes_masks() const override { return masks_; }
  Outputs forward_dummy(const models::Inputs& in) override {
    Outputs out = (*this)(in);
    const auto scope = enter();
    for (Tensor& of_regions : roi_head_.forward_dummy(out.features, proposals_))
      out.maps.push_back(std::move(of_regions));
    return out;
  }

 protected:
  Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    std::vector<Tensor> levels = pyramid(in.image, probe);
    std::vector<Tensor> maps = rpn_head_(levels);
    levels.pop_back();
    return {.maps = std::move(maps), .features = std::move(levels)};
  }

  Losses losses_of(const Outputs& out, const std::vector<ImageSize>& sizes,
                   const std::vector<DetectionTruth>& truth) override {
    const auto usable =
        models::usable_truth(truth, sizes, out.maps.front().size(0), num_classes(), masks_);
    Losses losses = rpn_head_.losses(out.maps, sizes, usable);
    std::vector<Tensor> boxes;
    for (const auto& proposals : rpn_head_.proposals(out.maps, sizes, true))
      boxes.push_back(proposals.boxes);
    for (auto& loss : roi_head_.losses(out.features, sizes, usable, std::move(boxes)))
      losses.push_back(std::move(loss));
    return losses;
  }

  std::vector<Detections> detections(const Outputs& out,
                                     const std::vector<ImageSize>& sizes) override {
    const auto proposals = rpn_head_.proposals(out.maps, sizes, false);
    std::vector<Detections> found;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      found.push_back(roi_head_.detections(out.features, static_cast<std::int64_t>(i), sizes[i],
                                           proposals[i].boxes));
    return found;
  }

 private:
  bool masks_, cascade_;
  std::int64_t proposals_;  // of an image, of a test
  models::RpnHead& rpn_head_;
  models::RoiHead& roi_head_;
};

schema::Fields<TwoStageOptions> two_stage_fields(bool masks, bool cascade) {
  using O = TwoStageOptions;
  O defaults;
  if (cascade) {
    defaults.rpn.inside_only = true;
    defaults.rpn.smooth_l1_beta = 1.0 / 9;
    defaults.rpn.max_per_img_train = 2000;
    defaults.rcnn.iou_thrs = {0.5, 0.6, 0.7};
    defaults.rcnn.stage_weights = {1, 0.5, 0.25};
    defaults.rcnn.low_quality = false;
  }
  defaults.rcnn.masks = masks;
  defaults.rcnn.cascade = cascade;
  schema::Fields<O> fields(defaults);
  fields.add_object("rpn", &O::rpn, models::rpn_fields(), "the first stage: proposals")
      .add_object("rcnn", &O::rcnn, models::roi_head_fields(defaults.rcnn),
                  "what is made of the proposals");
  return models::add_detector_fields(fields);
}

}  // namespace

FOVEA_MODEL(faster_rcnn, TwoStageDetector,
            "Faster R-CNN with a feature pyramid over any backbone: boxes (mala 4.5, kcla 3.4)",
            two_stage_fields(false, false))
FOVEA_MODEL(mask_rcnn, TwoStageDetector, "Mask R-CNN: boxes and masks (mala 4.5)",
            two_stage_fields(true, false))
FOVEA_MODEL(cascade_rcnn, TwoStageDetector,
            "Cascade R-CNN: boxes, refined in three stages (mala 4.5)",
            two_stage_fields(false, true))
FOVEA_MODEL(cascade_mask_rcnn, TwoStageDetector,
            "Cascade Mask R-CNN: boxes and masks, refined in three stages (mala 4.5)",
            two_stage_fields(true, true))
