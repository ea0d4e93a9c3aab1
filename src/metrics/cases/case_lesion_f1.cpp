#include "metrics/cases/case_metric.h"
#include "metrics/masks/lesions.h"

namespace fovea::metrics {
namespace {

double f1_of_lesions(std::span<const std::uint8_t> truth, std::span<const std::uint8_t> predicted,
                     const Grid& grid, double /*tolerance*/) {
  return lesion_f1(truth, predicted, grid);
}

}  // namespace

FOVEA_CASE_METRIC(case_lesion_f1,
                  "F1 of lesions, the connected parts of a class, of which one is found where any "
                  "of its pixels is",
                  {.unit = "%", .share = case_dice, .masks = f1_of_lesions})

}  // namespace fovea::metrics
