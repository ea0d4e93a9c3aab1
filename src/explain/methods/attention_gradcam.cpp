// GradCAM on the maps of heads, the baseline of Chefer et al. explain A.7.
#include <algorithm>

#include "explain/methods/from_maps.h"

namespace fovea::explain {
namespace {

struct AttentionGradcamOptions : MapLayerOption {};

Explanation gradcam_of_attention(const ExplanationRequest& request,
                                 const AttentionGradcamOptions& o) {
  const char* name = "attention_gradcam";
  const Subject& subject = request.subject;
  const Recording seen = record(subject, request.targets, Wanted::kGradients, name);
  const RecordedLayer& layer = seen.layers[layer_place(o.layer, seen, name)];
  if (!seen.one_grid) {
    Explanation found = of_layer(subject, layer, weighed_maps(Weighing::kMeanGradient));
    for (double& value : found.values) value = std::max(value, 0.0);
    return found;
  }
  return of_tokens(subject, false, [&](std::int64_t item) {
    return attention_gradcam(graded_map_of(subject, layer, item, name), subject.layout());
  });
}

}  // namespace

FOVEA_EXPLANATION(attention_gradcam,
                  {.title = "heads of a layer, each weighted by its mean gradient",
                   .source = "Chefer et al., CVPR 2021, baseline GradCAM"},
                  map_layer_field<AttentionGradcamOptions>(), gradcam_of_attention)

}  // namespace fovea::explain
