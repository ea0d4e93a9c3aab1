// What attention maps are like: spread, sinks, rank, distance, signs, likeness of heads. explain
// C.1 to C.4, C.6 and C.9.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "explain/diagnostics/mean_of.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::explain {

/// The weights of one layer for one sample, without padding.
struct LayerMap {
  enum class Keys {
    kAllTokens,  // one part, whose keys are its rows
    kReduced,    // one part; a key stands for several tokens
    kOfWindow,   // a part for each window, whose keys are its rows
  };
  /// Rows that see the same keys.
  struct Part {
    std::int64_t rows = 0, keys = 0;
  };
  std::int64_t heads = 0;
  Keys keys = Keys::kAllTokens;
  std::vector<Part> parts = {};
  std::vector<double> values = {};  // head by head, the parts one after another, row-major
  /// Of A = P - N with P, N >= 0, laid out as the values; empty where a map is no difference.
  std::vector<double> positive = {}, negative = {};
  /// From the token of a row to that of a key in pixels, laid out as the values of one head; NaN
  /// where one of them lies nowhere in the image (a class token). Empty: not known.
  std::span<const double> distances = {};
};
/// Of a map of all tokens on all.
LayerMap layer_map(visualise::AttentionMap map);

/// LayerMap::distances of a grid of patches, (rows, columns), behind a prefix; side: height and
/// width of a patch in pixels.
std::vector<double> patch_distances(std::int64_t prefix, std::pair<std::int64_t, std::int64_t> grid,
                                    std::pair<double, double> side);
/// The same of tokens that are these patches; -1: none.
std::vector<double> patch_distances(std::span<const std::int64_t> patches, std::int64_t columns,
                                    std::pair<double, double> side);

/// In these numbers a_ij = |A_ij| / sum_j |A_ij|; a row of zeros is left out of means.
struct MapDiagnosticsOptions {
  bool causal = false;          // row i sees the keys up to i
  double sink_threshold = 0.3;  // a key is a sink where its importance is above
  std::int64_t sink_token = 0;  // of sink_rate
  // What takes most of the time is computed:
  bool ranks = true;  // singular values, of maps of at most kMostRankTokens rows
  bool pairs = true;  // pairs of heads
};
/// The singular values of larger maps take seconds for every head.
inline constexpr std::int64_t kMostRankTokens = 1024;

/// Of one head. What is not defined for a layer's keys has no value.
struct HeadDiagnostics {
  MeanOf entropy;           // mean over rows of -sum a ln a, in nats
  MeanOf relative_entropy;  // each row over ln(keys it may see); rows that see one are left out
  MeanOf importance_max;    // of the keys: mean of a over the rows that may see it
  /// Of samples: whether the importance of the sink token is above the threshold (Gu et al., When
  /// attention sink emerges in language models, 2024). All tokens.
  MeanOf sink_rate;
  MeanOf sink_any;           // the same for the key of the largest importance, whichever that is
  MeanOf first_token_share;  // importance of token 0. All tokens
  MeanOf effective_rank, stable_rank, row_residual;  // of A (singular_values.h); not of windows
  MeanOf mean_distance;  // of places in the image, weighted with a over these, in pixels
  MeanOf negative_mass, row_cancellation, cancelled, inhibited;  // signed_maps.h
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

  /// A sample's map of a layer. Throws ShapeError where its sizes do not fit each other or the
  /// layer's earlier maps.
  void add(std::size_t layer, const LayerMap& map);

  const std::vector<LayerDiagnostics>& layers() const { return layers_; }
  /// Over all samples, layers and heads.
  double over_all(MeanOf HeadDiagnostics::*member) const;

 private:
  MapDiagnosticsOptions options_;
  std::vector<LayerDiagnostics> layers_;
};

}  // namespace fovea::explain
