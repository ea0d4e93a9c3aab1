#include "ops/losses/mask_loss.h"
#include "ops/losses/region_loss.h"
#include "training/losses/overlap_options.h"

namespace fovea::training {

FOVEA_LOSS(dice, LossMaker<DiceLoss>(
                     "1 - mean over classes of the Dice of softmax(logits) and labels, with the "
                     "options of MONAI's DiceLoss; of regions sigmoid(logits) and their masks",
                     with_dice(schema::Fields<DiceLoss>{}))
                     .compares(Compares::kLabelMaps, ops::label_dice)
                     .compares(Compares::kRegions, ops::mask_dice))

}  // namespace fovea::training
