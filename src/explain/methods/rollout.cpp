// Attention rollout, with a policy for signed maps. explain A.2; dgsa 9.
#include "explain/methods/from_maps.h"

namespace fovea::explain {
namespace {

using visualise::Normalise;
using visualise::Sign;

struct RolloutMethodOptions {
  Sign sign = Sign::kRaw;
  std::optional<Normalise> normalise;
  std::int64_t start_layer = 0;
};

Explanation rollout(const ExplanationRequest& request, const RolloutMethodOptions& o) {
  const Subject& subject = request.subject;
  const Recording seen = record(subject, request.targets, Wanted::kMaps, "rollout");
  if (!seen.one_grid) {
    return of_stages(subject, seen, weighed_maps(Weighing::kRollout), StageRule::kRollout,
                     "rollout");
  }
  visualise::RolloutOptions options = visualise::default_rollout(seen.is_signed);
  options.sign = o.sign;
  options.start_layer = o.start_layer;
  if (o.normalise) options.normalise = *o.normalise;
  return of_tokens(subject, seen.is_signed, [&](std::int64_t item) {
    std::vector<visualise::AttentionMap> maps;
    for (const RecordedLayer& layer : seen.layers)
      maps.push_back(map_of(subject, layer, item, "rollout"));
    return reading_row(visualise::attention_rollout(maps, options), subject.layout());
  });
}

schema::Fields<RolloutMethodOptions> rollout_fields() {
  return schema::Fields<RolloutMethodOptions>{}
      .add_enum("sign", &RolloutMethodOptions::sign,
                {{"raw", Sign::kRaw},
                 {"abs", Sign::kAbs},
                 {"positive", Sign::kPositive},
                 {"negative", Sign::kNegative}},
                "what counts of signed maps; grids of several sizes: always positive")
      .add_enum("normalise", &RolloutMethodOptions::normalise,
                {{"sum", Normalise::kSum}, {"abs", Normalise::kAbs}, {"none", Normalise::kNone}},
                "how rows are divided; null = abs for signed maps, else sum")
      .add("start_layer", &RolloutMethodOptions::start_layer, schema::at_least(0),
           "first attention that counts, from 0");
}

}  // namespace

FOVEA_EXPLANATION(rollout,
                  {.title = "attention through all layers with their skip connections",
                   .source = "Abnar & Zuidema, 2020",
                   .class_specific = false},
                  rollout_fields(), rollout)

}  // namespace fovea::explain
