// Shares of tokens in the output of an attention (arXiv 2606.07604). explain A.13.
#include "explain/methods/from_maps.h"

namespace fovea::explain {
namespace {

Explanation contribution(const ExplanationRequest& request, const MapThroughOption& o) {
  const char* name = "contribution";
  const Subject& subject = request.subject;
  const Recording seen = record(subject, request.targets, Wanted::kValues, name);
  check_one_grid(seen, name);
  const auto shares = [&](const RecordedLayer& layer, std::int64_t item) {
    return contributions(head_values_of(subject, layer, item, name));
  };
  return of_tokens(subject, true, [&](std::int64_t item) {
    if (o.through == Through::kLayer) {
      return reading_row(shares(seen.layers[layer_place(o.layer, seen.layers.size(), name)], item),
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
