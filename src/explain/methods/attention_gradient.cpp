// Attention weights times their gradients, of one layer. explain A.4.
#include "explain/methods/from_maps.h"

namespace fovea::explain {
namespace {

struct AttentionGradientOptions : MapLayerOption {
  bool positive = true;
};

Explanation attention_gradient(const ExplanationRequest& request,
                               const AttentionGradientOptions& o) {
  const char* name = "attention_gradient";
  const Subject& subject = request.subject;
  const Recording seen = record(subject, request.targets, Wanted::kGradients, name);
  const RecordedLayer& layer = seen.layers[layer_place(o.layer, seen, name)];
  if (!seen.one_grid) {
    return of_layer(
        subject, layer,
        weighed_maps(o.positive ? Weighing::kPositiveGradient : Weighing::kSignedGradient));
  }
  return of_tokens(subject, !o.positive, [&](std::int64_t item) {
    return reading_row(weighted_map(graded_map_of(subject, layer, item, name), o.positive),
                       subject.layout());
  });
}

schema::Fields<AttentionGradientOptions> attention_gradient_fields() {
  return map_layer_field<AttentionGradientOptions>().add(
      "positive", &AttentionGradientOptions::positive,
      "only what speaks for the class; false: with its sign");
}

}  // namespace

FOVEA_EXPLANATION(attention_gradient,
                  {.title = "attention weights times their gradients, of a layer",
                   .source = "Chefer et al., CVPR 2021; Barkan et al., 2021"},
                  attention_gradient_fields(), attention_gradient)

}  // namespace fovea::explain
