// Losses of maps that may overlap, each with a mask of its own: the regions of nnU-Net.
#pragma once

#include <vector>

#include "ops/losses/loss.h"
#include "ops/losses/volume_loss.h"

namespace fovea::ops {

/// For each region 1 where a label is one of its classes and 0 elsewhere; ignore_index where the
/// label is that. labels: (b, spatial...) int64 -> (b, regions, spatial...) int64. Throws
/// ShapeError without regions.
Tensor region_masks(const Tensor& labels, const std::vector<std::vector<std::int64_t>>& regions,
                    std::int64_t ignore_index = CrossEntropyOptions{}.ignore_index);

// logits: (b, k, spatial...), masks: int64 of that shape with 0, 1 or ignore_index -> (). p is the
// sigmoid of the logits. All throw ShapeError for other shapes or types.

/// label_dice() of each map with its mask. options.background and options.sigmoid are not used.
Tensor mask_dice(const Tensor& logits, const Tensor& masks, const LabelDiceOptions& options = {});
/// Mean over the maps of the mean over the places that count of -ln p where the mask is 1, -ln(1 -
/// p) where it is 0, times the weight of the map (none: 1 each). A map without such places has 0.
Tensor mask_cross_entropy(const Tensor& logits, const Tensor& masks,
                          const std::vector<double>& weights = {},
                          std::int64_t ignore_index = CrossEntropyOptions{}.ignore_index);
/// ce_weight mask_cross_entropy() - dice_weight mean(dc), dc as in nnunet_loss() of every map:
/// nnU-Net's DC_and_BCE_loss. (With a label to ignore nnU-Net has the sum over the maps of the
/// cross-entropy in place of the mean: that is a ce_weight of k.) options.background is not used.
Tensor nnunet_mask_loss(const Tensor& logits, const Tensor& masks,
                        const NnUnetOptions& options = {});

}  // namespace fovea::ops
