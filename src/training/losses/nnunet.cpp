#include "ops/losses/mask_loss.h"
#include "ops/losses/volume_loss.h"
#include "training/losses/loss_entry.h"

namespace fovea::training {
namespace {

struct NnUnet : ops::NnUnetOptions, MapOptions {};

}  // namespace

FOVEA_LOSS(nnunet,
           LossMaker<NnUnet>(
               "ce_weight cross-entropy - dice_weight Dice of softmax(logits) and labels, as "
               "nnU-Net has it for volumes (dformer 7.5); of regions binary cross-entropy, "
               "sigmoid(logits) and their masks",
               with_halving_maps<NnUnet>()
                   .add("smooth", &NnUnet::smooth, schema::greater_than(0),
                        "added to both sides of the Dice fraction")
                   .add("background", &NnUnet::background, "whether class 0 has a Dice")
                   .add("batch_dice", &NnUnet::batch_dice,
                        "one Dice of a class, or region, over the whole batch instead of one for "
                        "each volume")
                   .add("ce_weight", &NnUnet::ce_weight, schema::at_least(0),
                        "weight of the cross-entropy")
                   .add("dice_weight", &NnUnet::dice_weight, schema::at_least(0),
                        "weight of the Dice"))
               .compares(Compares::kLabelMaps, ops::nnunet_loss)
               .compares(Compares::kRegions, ops::nnunet_mask_loss))

}  // namespace fovea::training
