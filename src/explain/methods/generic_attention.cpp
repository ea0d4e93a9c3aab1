// Chefer's rule of generic attention, equations 5 and 6. explain A.6.
#include "explain/methods/from_maps.h"

namespace fovea::explain {
namespace {

struct GenericAttentionOptions {
  bool positive = true;
};

Explanation generic_attention(const ExplanationRequest& request, const GenericAttentionOptions& o) {
  const char* name = "generic_attention";
  const Subject& subject = request.subject;
  const Recording seen = record(subject, request.targets, Wanted::kGradients, name);
  if (!seen.one_grid) {
    const Weighing weighing = o.positive ? Weighing::kPositiveGradient : Weighing::kSignedGradient;
    return of_stages(subject, seen, weighed_maps(weighing), StageRule::kGeneric, name);
  }
  return of_tokens(subject, !o.positive, [&](std::int64_t item) {
    std::vector<Matrix> layers;
    for (const RecordedLayer& layer : seen.layers)
      layers.push_back(weighted_map(graded_map_of(subject, layer, item, name), o.positive));
    return generic_relevance(layers, subject.layout());
  });
}

schema::Fields<GenericAttentionOptions> generic_attention_fields() {
  return schema::Fields<GenericAttentionOptions>{}.add(
      "positive", &GenericAttentionOptions::positive,
      "only what speaks for the class; false: with its sign");
}

}  // namespace

FOVEA_EXPLANATION(generic_attention,
                  {.title = "attention weights times their gradients, added up through all layers",
                   .source = "Chefer et al., ICCV 2021"},
                  generic_attention_fields(), generic_attention)

}  // namespace fovea::explain
