// Shares of tokens in the output of an attention (arXiv 2606.07604). explain A.13.
#include "base/error.h"
#include "explain/methods/from_maps.h"
#include "explain/recorded_values.h"

namespace fovea::explain {
namespace {

Explanation contribution(const ExplanationRequest& request, const MapThroughOption& o) {
  const char* name = "contribution";
  const Subject& subject = request.subject;
  const Recording seen = record(subject, request.targets, Wanted::kValues, name);
  if (!seen.one_grid) {
    FOVEA_CHECK(o.through == Through::kLayer, ConfigError,
                "contribution: through=rollout is for networks of one grid; leave it at layer");
    const auto shares_of = [&](const RecordedLayer& layer, std::int64_t item) {
      return value_map_of(layer, item, contributions, name);
    };
    return of_layer(subject, seen.layers[layer_place(o.layer, seen, name)], {shares_of, true});
  }
  const auto shares = [&](const RecordedLayer& layer, std::int64_t item) {
    return contributions(head_values_of(subject, layer, item, name));
  };
  return of_tokens(subject, true, [&](std::int64_t item) {
    if (o.through == Through::kLayer) {
      return reading_row(shares(seen.layers[layer_place(o.layer, seen, name)], item),
                         subject.layout());
    }
    std::vector<visualise::AttentionMap> maps;
    for (const RecordedLayer& layer : seen.layers) {
      Matrix one = shares(layer, item);
      maps.push_back({1, one.rows, std::move(one.values)});
    }
    return reading_row(visualise::attention_rollout(maps, visualise::default_rollout(true)),
                       subject.layout());
  });
}

}  // namespace

FOVEA_EXPLANATION(contribution,
                  {.title = "shares of tokens in the output of an attention, projected on it",
                   .source = "arXiv 2606.07604",
                   .class_specific = false},
                  map_through_fields("shares"), contribution)

}  // namespace fovea::explain
