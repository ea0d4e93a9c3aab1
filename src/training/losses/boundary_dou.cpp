#include "ops/losses/region_loss.h"
#include "training/losses/loss_entry.h"
#include "training/losses/overlap_options.h"

namespace fovea::training {
namespace {

struct BoundaryDou : ops::RegionLossOptions, MapOptions {};

}  // namespace

FOVEA_LOSS(
    boundary_dou,
    LossMaker<BoundaryDou>("boundary difference over union of each class over the batch (gdla 6.3)",
                           with_regions(schema::Fields<BoundaryDou>{}))
        .compares(Compares::kLabelMaps, ops::boundary_dou))

}  // namespace fovea::training
