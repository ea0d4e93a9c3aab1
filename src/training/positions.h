// Learned positions of one grid of patches brought to another.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace fovea::training {

/// The tokens that a table of positions is for.
struct PositionGrid {
  std::int64_t prefix_tokens = 0;
  std::int64_t h = 0, w = 0;
  std::int64_t rows = 0;  // of the network's table
};

/// table: (1, prefix + s s, dim) -> (1, prefix + h w, dim). Rows of prefix tokens are kept; the
/// others, a square of patches row by row, are resized by the cubic filter of PIL (a = -1/2), wider
/// when it shrinks, so that nothing aliases. That is timm's resample_abs_pos_embed; a table that
/// fits is returned as it is. Throws FileError, beginning with `file`, if the old patches are no
/// square; ConfigError if the network has no grid or its table has other rows than it has tokens.
Tensor resample_positions(const Tensor& table, const PositionGrid& grid, const std::string& file);

}  // namespace fovea::training
