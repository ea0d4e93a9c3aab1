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
      "attention whose map is read: last, or its number, from 0 or from -1 backwards");
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

/// The reading row of one layer of any kind on its own grid, after `weighing`.
Explanation of_layer(const Subject& subject, const RecordedLayer& layer, Weighing weighing);

}  // namespace fovea::explain
