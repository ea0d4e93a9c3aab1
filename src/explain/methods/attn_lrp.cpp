// Relevance propagation through attention, as input times a gradient with other rules. explain
// A.14.
#include "autograd/mode.h"
#include "explain/methods/places.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

using autograd::Rule;

struct AttnLrpOptions {
  Rule variant = Rule::kAttnLrp;
  Reduce reduce = Reduce::kSum;
};

Explanation attn_lrp(const ExplanationRequest& request, const AttnLrpOptions& o) {
  const Subject& subject = request.subject;
  const autograd::WithRule rule(o.variant);
  std::vector<double> relevance = host_doubles(subject.gradient(subject.x(), request.targets));
  const std::vector<double> x = host_doubles(subject.x());
  for (std::size_t i = 0; i < x.size(); ++i) relevance[i] *= x[i];
  return of_places(subject, relevance, o.reduce);
}

schema::Fields<AttnLrpOptions> attn_lrp_fields() {
  schema::Fields<AttnLrpOptions> fields;
  fields.add_enum("variant", &AttnLrpOptions::variant,
                  {{"attnlrp", Rule::kAttnLrp}, {"cp_lrp", Rule::kCpLrp}},
                  "relevance flows through maps of attention too, or maps are constants (Ali et "
                  "al., 2022)");
  return add_reduce(fields);
}

}  // namespace

FOVEA_EXPLANATION(attn_lrp,
                  {.title = "layer-wise relevance propagation through attention",
                   .source = "Achtibat et al., ICML 2024, without its gamma rule",
                   .per_pixel = true},
                  attn_lrp_fields(), attn_lrp)

}  // namespace fovea::explain
