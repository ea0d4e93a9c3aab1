// What the attentions of a network did with a batch: maps, values, and what a target's score thinks
// of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "explain/maps/gradient_maps.h"
#include "explain/maps/token_map.h"
#include "explain/subject.h"

namespace fovea::explain {

/// One attention, of all samples.
struct RecordedLayer {
  std::string module;  // "blocks.0.attn"
  attention::Probe::Record map;
  attention::Probe::Attended attended;  // undefined where values were not asked for
  GridSize grid, keys;                  // of its tokens and keys, in networks of several grids
  bool reduced() const { return map.name == "reduced_attn"; }
  bool in_units() const { return map.name == "unit_attn"; }
  /// Every token has a weight for every token, and all layers have the same tokens.
  bool whole() const { return map.name == "attn"; }
  /// The token at each place of its units, row by row, -1 where there is none; else nothing.
  std::vector<std::int64_t> places() const;
};

struct Recording {
  std::vector<RecordedLayer> layers;  // in order of the network
  std::vector<GridSize> skips;        // where a decoder joins tokens as they were before the blocks
  bool one_grid = true;               // all of them have one number of tokens
  bool is_signed = false;             // weights of some may be negative
};

enum class Wanted { kMaps, kValues, kGradients };

/// Runs the network on the subject's input; with gradients, back from the targets' scores. Throws
/// ConfigError, naming `method`, for a network without attention over tokens, and where gradients
/// or values are wanted of an attention that does not apply its map to values.
Recording record(const Subject& subject, const std::vector<std::int64_t>& targets, Wanted wanted,
                 const std::string& method);

/// The map of a layer over the valid tokens of a sample, (heads, n, n). Throws ConfigError, naming
/// `method`, for layers with windows or reduced keys.
visualise::AttentionMap map_of(const Subject& subject, const RecordedLayer& layer,
                               std::int64_t item, const std::string& method);
/// And its gradient, dA_ij = dU_i v_j.
GradedMap graded_map_of(const Subject& subject, const RecordedLayer& layer, std::int64_t item,
                        const std::string& method);
/// A layer of any kind, heads averaged; for kRollout with rows divided by their sums.
TokenMap token_map_of(const RecordedLayer& layer, std::int64_t item, Weighing weighing);
/// What a method makes of a layer, as weights of its tokens for its keys.
using MapOfLayer = std::function<TokenMap(const RecordedLayer& layer, std::int64_t item)>;
/// Blocks that follow each other on one grid, as stages; a stage on a finer grid than the one
/// before is a decoder's, whose skip connection comes from the last stage on its grid before it:
/// from its end, or where the network says so from its beginning. Throws ConfigError, naming
/// `method`, for tokens on a grid that is not known.
std::vector<StageMaps> stages_of(const Recording& recording, std::int64_t item,
                                 const MapOfLayer& map, const std::string& method);

/// The number of the layer that an option names: "last"; a number from 0, or below 0 from the end;
/// or a module, or the last one inside it: "de3.attn", "de3", "backbone.block2". Throws
/// ConfigError.
std::size_t layer_place(const std::string& layer, const std::vector<std::string>& modules,
                        const std::string& method);
std::size_t layer_place(const std::string& layer, const Recording& recording,
                        const std::string& method);

}  // namespace fovea::explain
