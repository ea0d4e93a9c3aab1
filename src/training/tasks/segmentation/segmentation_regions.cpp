// Segmentation into regions of labels, which may overlap.
#include "base/error.h"
#include "data/volumes/volume_dataset.h"
#include "data/volumes/volume_regions.h"
#include "ops/elementwise.h"
#include "ops/losses/mask_loss.h"
#include "training/tasks/segmentation/segmentation.h"

namespace fovea::training {

RegionSegmentation::RegionSegmentation(models::Model& model, std::shared_ptr<BatchSource> given,
                                       const schema::Component& loss)
    : LabelledSegmentation(model, std::move(given), loss, Compares::kRegions),
      names_(data::scored_names(source().volume_info())),
      labels_(data::scored_labels(source().volume_info())) {}

Tensor RegionSegmentation::loss_of(const models::Outputs& output, const data::Batch& batch) const {
  return mean_loss(output, batch.at("mask"));
}

void RegionSegmentation::set_inferer(std::unique_ptr<const Inferer> inferer) {
  FOVEA_CHECK(!inferer->needs_classes(), ConfigError,
              "eval.inferer.mean: probabilities are of classes, one for every voxel, but the data "
              "set has regions, which overlap; expected logits");
  LabelledSegmentation::set_inferer(std::move(inferer));
}

Tensor RegionSegmentation::probabilities(const Tensor& map) const { return ops::sigmoid(map); }

Tensor RegionSegmentation::labels_of(const Tensor& map) const {
  return data::region_labels(probabilities(map), source().volume_info().regions);
}

Tensor RegionSegmentation::target_of(const Tensor& masks) const {
  return ops::region_masks(masks, {labels_.begin() + 1, labels_.end()}, data::kIgnoreLabel);
}

}  // namespace fovea::training
