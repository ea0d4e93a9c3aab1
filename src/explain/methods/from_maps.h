// What methods that read maps of attention share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "explain/methods/method.h"
#include "explain/recorded.h"

namespace fovea::explain {

struct MapLayerOption {
  std::string layer = "last";
};
template <class Options>
schema::Fields<Options> map_layer_field() {
  return schema::Fields<Options>{}.add(
      "layer", &Options::layer, schema::any(),
      "attention whose map is read: last, its number from 0 or from -1 backwards, or its module or "
      "one around it (blocks.5.attn, block2)");
}

/// One layer, or a rollout of what all of them give.
enum class Through { kLayer, kRollout };
struct MapThroughOption : MapLayerOption {
  Through through = Through::kLayer;
};
/// `what`: "norms", what is rolled out.
inline schema::Fields<MapThroughOption> map_through_fields(const std::string& what) {
  return map_layer_field<MapThroughOption>().add_enum(
      "through", &MapThroughOption::through,
      {{"layer", Through::kLayer}, {"rollout", Through::kRollout}},
      "one layer, or a rollout of the " + what + " of all of them");
}

/// An explanation of the patches (or words) of every sample, from `of_sample`: the relevance of the
/// valid tokens behind the prefix.
Explanation of_tokens(const Subject& subject, bool is_signed,
                      const std::function<std::vector<double>(std::int64_t item)>& of_sample);
/// The same on the grid of one layer, or of a pyramid's first stage.
Explanation on_grid(const Subject& subject, GridSize grid, bool is_signed,
                    const std::function<std::vector<double>(std::int64_t item)>& of_sample);

/// Throws ConfigError, naming the method, for networks of several grids.
void check_one_grid(const Recording& recording, const std::string& method);

/// What a method makes of layers of any kind.
struct LayerMaps {
  MapOfLayer of;
  bool is_signed = false;
  /// The score counts, through gradients. Else the map of a subject with a region is read from the
  /// rows of the tokens there, as no other part of it knows of the region.
  bool of_score = false;
};
LayerMaps weighed_maps(Weighing weighing);

/// The rows of one layer of any kind on its own grid: their mean, or that over a region.
Explanation of_layer(const Subject& subject, const RecordedLayer& layer, const LayerMaps& maps);
/// The relevance of the tokens of the first grid through all stages of a network of several grids.
Explanation of_stages(const Subject& subject, const Recording& recording, const LayerMaps& maps,
                      StageRule rule, const std::string& method);

}  // namespace fovea::explain
