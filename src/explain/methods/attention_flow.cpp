// Maximum flow of attention from the output to each token. explain A.3.
#include <fmt/format.h>

#include "base/error.h"
#include "explain/maps/flow.h"
#include "explain/methods/from_maps.h"

namespace fovea::explain {
namespace {

struct AttentionFlowOptions {
  std::int64_t max_tokens = 65;
};

Explanation flow_of_attention(const ExplanationRequest& request, const AttentionFlowOptions& o) {
  const Subject& subject = request.subject;
  const Recording seen = record(subject, request.targets, Wanted::kMaps, "attention_flow");
  check_one_grid(seen, "attention_flow");
  FOVEA_CHECK(!seen.is_signed, ConfigError,
              "attention_flow: is not defined for signed maps; expected an attention whose weights "
              "are not negative");
  const std::int64_t n = seen.layers.front().map.value.size(2);
  FOVEA_CHECK(
      n <= o.max_tokens, ConfigError,
      fmt::format("attention_flow: {} tokens; expected at most max_tokens={}, since its time "
                  "grows with the cube of tokens",
                  n, o.max_tokens));
  return of_tokens(subject, false, [&](std::int64_t item) {
    std::vector<visualise::AttentionMap> maps;
    for (const RecordedLayer& layer : seen.layers)
      maps.push_back(map_of(subject, layer, item, "attention_flow"));
    return attention_flow(maps, subject.layout()).relevance;
  });
}

schema::Fields<AttentionFlowOptions> attention_flow_fields() {
  return schema::Fields<AttentionFlowOptions>{}.add("max_tokens", &AttentionFlowOptions::max_tokens,
                                                    schema::at_least(1),
                                                    "refuse inputs of more tokens");
}

}  // namespace

FOVEA_EXPLANATION(attention_flow,
                  {.title = "maximum flow of attention to each token",
                   .source = "Abnar & Zuidema, 2020",
                   .class_specific = false},
                  attention_flow_fields(), flow_of_attention)

}  // namespace fovea::explain
