#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "training/losses/loss_entry.h"

namespace fovea::training {
namespace {

// The sum of both keeps the sigmoid, which the paper's networks end in. It is float32 in mixed
// precision too: bfloat16 rounds what is above 0.998 to 1, of whose complement the loss takes the
// logarithm.
struct BceDice : ops::BceDiceOptions, MapOptions {};

}  // namespace

FOVEA_LOSS(
    bce_dice,
    LossMaker<BceDice>("bce_weight BCE + dice_weight Dice of sigmoid(logits) and masks (kcla 5.4)",
                       schema::Fields<BceDice>{}
                           .add("bce_weight", &BceDice::bce_weight, schema::at_least(0),
                                "weight of the cross-entropy")
                           .add("dice_weight", &BceDice::dice_weight, schema::at_least(0),
                                "weight of 1 - Dice")
                           .add("smooth", &BceDice::smooth, schema::greater_than(0),
                                "added to both sides of the Dice fraction"))
        .compares(Compares::kMasks,
                  [](const Tensor& map, const Tensor& masks, const BceDice& options) {
                    return ops::bce_dice(ops::sigmoid(map), masks, options);
                  }))

}  // namespace fovea::training
