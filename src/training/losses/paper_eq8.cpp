#include "ops/losses/volume_loss.h"
#include "training/losses/loss_entry.h"

namespace fovea::training {
namespace {

struct PaperEq8 : ops::PaperEq8Options, MapOptions {};

}  // namespace

FOVEA_LOSS(paper_eq8,
           LossMaker<PaperEq8>(
               "half the cross-entropy minus the Dice of all classes, of every volume, as the "
               "dformer paper prints it (dformer 7.5)",
               with_halving_maps<PaperEq8>()
                   .add("bce", &PaperEq8::bce,
                        "the binary cross-entropy of all classes in place of the cross-entropy")
                   .add("smooth", &PaperEq8::smooth, schema::greater_than(0),
                        "added to the denominator of the Dice"))
               .compares(Compares::kLabelMaps, ops::paper_eq8))

}  // namespace fovea::training
