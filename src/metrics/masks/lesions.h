// Lesions of a mask: its connected parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/masks/distance_transform.h"

namespace fovea::metrics {

/// For every pixel the number of its connected part, from 1, in the order of their first pixels; 0
/// outside of the mask. Pixels that touch at a side, an edge or a corner are connected (8
/// neighbours in a plane, 26 in a volume). Throws ShapeError as check_grid.
struct Lesions {
  std::vector<std::int64_t> of_pixel;
  std::int64_t count = 0;
};
Lesions find_lesions(std::span<const std::uint8_t> mask, const Grid& grid);

/// 2 TP / (2 TP + FP + FN): a lesion of the truth is found (TP) if any of its pixels is predicted,
/// else missed (FN); a predicted lesion without any pixel of the truth is false (FP). As the
/// challenge ISLES 2022 counts them. NaN where neither mask has a lesion.
double lesion_f1(std::span<const std::uint8_t> truth, std::span<const std::uint8_t> predicted,
                 const Grid& grid);

}  // namespace fovea::metrics
