#include "metrics/cases/case_metric.h"
#include "metrics/masks/surface_elements.h"

namespace fovea::metrics {

FOVEA_CASE_METRIC(
    nsd,
    "normalised surface Dice: the share of both surfaces that lies at most "
    "nsd_tolerance pixels from the other one",
    {.unit = "%", .share = case_dice, .masks = surface_dice, .lengths = Lengths::kPixels})

FOVEA_CASE_METRIC(
    nsd_mm, "the same at most nsd_tolerance_mm millimetres",
    {.unit = "%", .share = case_dice, .masks = surface_dice, .lengths = Lengths::kMillimetres})

}  // namespace fovea::metrics
