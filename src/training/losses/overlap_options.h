// Options that losses of overlaps of classes share.
#pragma once

#include "ops/losses/region_loss.h"
#include "training/losses/loss_entry.h"

namespace fovea::training {

struct DiceLoss : ops::LabelDiceOptions, MapOptions {};

/// What losses by regions of classes know.
template <class Options>
schema::Fields<Options> with_regions(schema::Fields<Options> fields) {
  return fields
      .add("smooth", &Options::smooth, schema::greater_than(0),
           "added to both sides of the fraction")
      .add("sigmoid", &Options::sigmoid,
           "sigmoid of each map instead of a softmax over the classes")
      .add("class_weights", &Options::class_weights, schema::at_least(0),
           "weight of every class that counts in the mean over them; [] = 1 each");
}

/// What those of Dice know besides.
template <class Options>
schema::Fields<Options> with_dice(schema::Fields<Options> fields) {
  return with_regions(std::move(fields))
      .add("background", &DiceLoss::background, "whether class 0 counts in the Dice")
      .add("batch", &DiceLoss::batch,
           "one Dice of a class, or region, over the whole batch instead of one for each image")
      .add("squared_pred", &DiceLoss::squared_pred,
           "squares of the probabilities in the denominator (gdla 6.3, with batch)");
}

}  // namespace fovea::training
