// The tokens of a grid among those of a pass, for parts of an attention that see neighbours. Such a
// part leaves out class and register tokens before the grid.
#pragma once

#include "attention/attention.h"

namespace fovea::attention {

/// x (b, n, c) without the tokens before the grid: (b, h w, c). Throws ShapeError, naming
/// `variant`, where the number of tokens is not that of the layout's grid.
Tensor grid_tokens(const char* variant, const Tensor& x, const Layout& layout);

/// (b, h w, c) with zeros for the tokens before the grid: (b, n, c), to be added.
Tensor behind_prefix(const Tensor& grid, const Layout& layout);

/// Throws ConfigError, naming `variant`, unless the slot's grid is known.
void check_grid_known(const char* variant, const Slot& slot);

}  // namespace fovea::attention
