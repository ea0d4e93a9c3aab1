// What blocks of context over the places of a map share (non-local, global context): they stand in
// some stages alone, and begin as the identity.
#pragma once

#include <array>
#include <vector>

#include "layer_attention/layer_attention.h"

namespace fovea::layer_attention {

struct ContextOptions {
  std::vector<std::int64_t> stages;  // from 1; empty: all
};
schema::Fields<ContextOptions> context_fields();

/// Whether the slot's stage is among them. Throws ConfigError for a stage that the network does not
/// have.
bool stands_in(const ContextOptions& options, const Slot& slot);

/// Weight and bias become 0.
void start_at_zero(const nn::Module& layer);

/// mmcv's name of the block, inside the residual block.
std::array<Names, 3> names_inside(const char* core);

}  // namespace fovea::layer_attention
