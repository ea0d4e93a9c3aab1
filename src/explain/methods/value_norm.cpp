// Norms of weighted values (Kobayashi et al., 2020). explain A.12.
#include "explain/methods/from_maps.h"
#include "explain/recorded_values.h"

namespace fovea::explain {
namespace {

Explanation value_norm(const ExplanationRequest& request, const MapThroughOption& o) {
  const char* name = "value_norm";
  const Subject& subject = request.subject;
  const Recording seen = record(subject, request.targets, Wanted::kValues, name);
  if (!seen.one_grid) {
    const auto norms_of = [&](const RecordedLayer& layer, std::int64_t item) {
      return value_map_of(layer, item, summed_norms, name);
    };
    if (o.through == Through::kLayer)
      return of_layer(subject, seen.layers[layer_place(o.layer, seen, name)], {norms_of});
    const auto shares_of = [&](const RecordedLayer& layer, std::int64_t item) {
      TokenMap shares = norms_of(layer, item);
      shares.normalise_rows();
      return shares;
    };
    return of_stages(subject, seen, {shares_of}, StageRule::kRollout, name);
  }
  const auto norms = [&](const RecordedLayer& layer, std::int64_t item) {
    return summed_norms(head_values_of(subject, layer, item, name));
  };
  return of_tokens(subject, false, [&](std::int64_t item) {
    const TokenLayout layout = subject.layout();
    if (o.through == Through::kLayer) {
      return reading_row(norms(seen.layers[layer_place(o.layer, seen, name)], item), layout);
    }
    std::vector<double> row;
    for (std::size_t l = seen.layers.size(); l-- > 0;) {
      const Matrix step = rollout_step(norms(seen.layers[l], item));
      if (row.empty()) row = reading_weights(step.rows, layout);
      row = times(row, step);
    }
    return behind_prefix(row, layout);
  });
}

}  // namespace

FOVEA_EXPLANATION(value_norm,
                  {.title = "norms of what tokens add to the output of an attention",
                   .source = "Kobayashi et al., 2020",
                   .class_specific = false},
                  map_through_fields("norms"), value_norm)

}  // namespace fovea::explain
