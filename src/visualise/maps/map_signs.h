// How many weights of a network's attention maps are negative: the paper of mala says that none of
// its own ever are. mala section 6, row 5.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/probe.h"

namespace fovea::visualise {

/// Whether a record is a map: over all tokens, over reduced keys, or of units.
bool is_attention_map(const attention::Probe::Record& record);

/// The weights of all heads, queries and samples of one layer.
struct LayerSigns {
  std::string layer;  // "blocks.0.attn"
  std::int64_t weights = 0, negative = 0, zero = 0;
  double least = 0;

  /// In percent of the weights.
  double negative_share() const;
  double zero_share() const;
};

/// Adds the maps that a pass of the network recorded to those of earlier passes, layer by layer in
/// the network's order; places of padding do not count.
void add_signs(const attention::Probe& probe, std::vector<LayerSigns>& layers);

/// All layers together, as "all".
LayerSigns total_of(const std::vector<LayerSigns>& layers);

/// Columns layer,weights,negative,zero,least.
std::string signs_csv(const std::vector<LayerSigns>& layers);

}  // namespace fovea::visualise
