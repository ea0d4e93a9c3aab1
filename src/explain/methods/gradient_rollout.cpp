// Rollout of attention weights times their gradients. explain A.5.
#include <fmt/format.h>

#include "base/error.h"
#include "explain/methods/from_maps.h"

namespace fovea::explain {
namespace {

struct GradientRolloutOptions {
  std::int64_t start_layer = 0;
};

Explanation rollout_of_gradients(const ExplanationRequest& request,
                                 const GradientRolloutOptions& o) {
  const char* name = "gradient_rollout";
  const Subject& subject = request.subject;
  const Recording seen = record(subject, request.targets, Wanted::kGradients, name);
  if (!seen.one_grid) {
    FOVEA_CHECK(o.start_layer == 0, ConfigError,
                "gradient_rollout: start_layer is for networks of one grid; leave it at 0");
    return of_stages(subject, seen, weighed_maps(Weighing::kPositiveGradient),
                     StageRule::kGradientRollout, name);
  }
  return of_tokens(subject, false, [&](std::int64_t item) {
    std::vector<Matrix> layers;
    for (const RecordedLayer& layer : seen.layers)
      layers.push_back(weighted_map(graded_map_of(subject, layer, item, name), true));
    return gradient_rollout(layers, subject.layout(), o.start_layer);
  });
}

schema::Fields<GradientRolloutOptions> gradient_rollout_fields() {
  return schema::Fields<GradientRolloutOptions>{}.add(
      "start_layer", &GradientRolloutOptions::start_layer, schema::at_least(0),
      "first attention that counts, from 0");
}

}  // namespace

FOVEA_EXPLANATION(gradient_rollout,
                  {.title = "rollout of attention weights times their gradients",
                   .source = "Chefer et al., CVPR 2021, without LRP"},
                  gradient_rollout_fields(), rollout_of_gradients)

}  // namespace fovea::explain
