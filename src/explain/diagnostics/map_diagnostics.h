// What attention maps are like: spread, sinks, rank, distance, likeness of heads. explain C.1 to
// C.4 and C.6.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "explain/diagnostics/mean_of.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::explain {

/// In these numbers a_ij = |A_ij| / sum_j |A_ij|; a row of zeros is left out of means.
struct MapDiagnosticsOptions {
  std::int64_t prefix_tokens = 0;  // class and register tokens before the grid
  std::optional<std::pair<std::int64_t, std::int64_t>> grid =
      {};                       // of patches; none: no mean_distance
  double patch = 1;             // side of a patch, in pixels
  bool causal = false;          // row i sees the keys up to i
  double sink_threshold = 0.3;  // a key is a sink where its importance is above
  std::int64_t sink_token = 0;  // of sink_rate
  bool ranks = true;            // singular values, which take most of the time, are computed
};

/// Of one head.
struct HeadDiagnostics {
  MeanOf entropy;           // mean over rows of -sum a ln a, in nats
  MeanOf relative_entropy;  // each row over ln(keys it may see); rows that see one are left out
  MeanOf importance_max;    // of the keys: mean of a over the rows that may see it
  MeanOf effective_rank, stable_rank, row_residual;  // of A (singular_values.h)
  MeanOf mean_distance;  // of patches, weighted with a over patches, in pixels
};

/// Of one layer; means over samples.
struct LayerDiagnostics {
  std::vector<HeadDiagnostics> heads;
  MeanOf head_similarity;  // mean over pairs of heads: cosine of their maps
  MeanOf head_js;          // and over rows: Jensen-Shannon divergence of a, in nats
};

/// Collects maps of one network, sample by sample and layer by layer.
class MapDiagnostics {
 public:
  explicit MapDiagnostics(MapDiagnosticsOptions options) : options_(options) {}

  /// A sample's map of a layer, without padding (visualise::crop). Throws ShapeError where its
  /// sizes do not fit each other, the layer's earlier maps or the grid.
  void add(std::size_t layer, const visualise::AttentionMap& map);

  const std::vector<LayerDiagnostics>& layers() const { return layers_; }
  /// The share of (sample, layer, head) in which the importance of the sink token is above the
  /// threshold (Gu et al., When attention sink emerges in language models, 2024).
  double sink_rate() const { return sink_rate_.value(); }
  /// The same for the key of the largest importance, whichever that is.
  double sink_any() const { return sink_any_.value(); }
  /// The mean importance of token 0.
  double first_token_share() const { return first_token_share_.value(); }

 private:
  MapDiagnosticsOptions options_;
  std::vector<LayerDiagnostics> layers_;
  MeanOf sink_rate_, sink_any_, first_token_share_;
};

}  // namespace fovea::explain
