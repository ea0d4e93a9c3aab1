#include <fmt/format.h>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/losses/mask_loss.h"
#include "ops/losses/region_loss.h"
#include "training/losses/loss_entry.h"
#include "training/losses/overlap_options.h"

namespace fovea::training {
namespace {

struct DiceCe : DiceLoss {
  double dice_weight = 1;
  double ce_weight = 1;
  double label_smoothing = 0;
};

}  // namespace

FOVEA_LOSS(
    dice_ce,
    LossMaker<DiceCe>(
        "dice_weight dice + ce_weight cross_entropy, as MONAI and nnU-Net, of regions the "
        "binary one; class_weights, one for every class or region, weigh both",
        with_dice(schema::Fields<DiceCe>{})
            .add("dice_weight", &DiceCe::dice_weight, schema::at_least(0), "weight of 1 - Dice")
            .add("ce_weight", &DiceCe::ce_weight, schema::at_least(0),
                 "weight of the cross-entropy")
            .add("label_smoothing", &DiceCe::label_smoothing,
                 schema::at_least(0) && schema::less_than(1),
                 "of the cross-entropy: share of the target spread evenly"))
        .compares(Compares::kLabelMaps,
                  [](const Tensor& map, const Tensor& labels, const DiceCe& o) {
                    const Tensor ce =
                        ops::pixel_cross_entropy(map, labels,
                                                 {.label_smoothing = o.label_smoothing,
                                                  .ignore_index = o.ignore_index,
                                                  .class_weights = o.class_weights});
                    // MONAI: one weight a class; the Dice takes those of the classes it has.
                    ops::LabelDiceOptions dice = o;
                    if (!o.background && !o.class_weights.empty())
                      dice.class_weights.erase(dice.class_weights.begin());
                    return ops::add(ops::mul(ops::label_dice(map, labels, dice), o.dice_weight),
                                    ops::mul(ce, o.ce_weight));
                  })
        .compares(Compares::kRegions, [](const Tensor& map, const Tensor& masks, const DiceCe& o) {
          FOVEA_CHECK(o.label_smoothing == 0, ConfigError,
                      fmt::format("loss.label_smoothing: {}; expected 0 for regions, whose "
                                  "cross-entropy is binary",
                                  o.label_smoothing));
          const Tensor ce = ops::mask_cross_entropy(map, masks, o.class_weights, o.ignore_index);
          return ops::add(ops::mul(ops::mask_dice(map, masks, o), o.dice_weight),
                          ops::mul(ce, o.ce_weight));
        }))

}  // namespace fovea::training
