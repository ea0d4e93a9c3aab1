// Conversion between maps and tokens of a grid, row by row.
#pragma once

#include "nn/ffn.h"

namespace fovea::models {

/// Tokens (b, h w, dim) as a map (b, dim, h, w).
Tensor map_of(const Tensor& tokens, const nn::Grid& grid);
/// A map (b, dim, h, w) as tokens (b, h w, dim).
Tensor tokens_of(const Tensor& map);

}  // namespace fovea::models
