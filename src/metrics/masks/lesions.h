// Lesions: the connected components of a mask.
#pragma once

#include <cstdint>
#include <span>

#include "metrics/masks/distance_transform.h"

namespace fovea::metrics {

/// 2 TP / (2 TP + FP + FN): a lesion of the truth is found (TP) if any of its pixels is predicted,
/// else missed (FN); a predicted lesion without any pixel of the truth is false (FP). As the
/// challenge ISLES 2022 counts them. NaN where neither mask has a lesion.
double lesion_f1(std::span<const std::uint8_t> truth, std::span<const std::uint8_t> predicted,
                 const Grid& grid);

}  // namespace fovea::metrics
