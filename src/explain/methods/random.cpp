// Relevance that knows nothing: what any method has to be better than. explain A.17.
#include "explain/methods/controls.h"

namespace fovea::explain {
namespace {

struct RandomOptions {};

Explanation random_relevance(const ExplanationRequest& request, const RandomOptions&) {
  const Subject& subject = request.subject;
  Explanation result{{}, control_grid(subject)};
  const auto places = static_cast<std::size_t>(result.grid.count());
  for (std::size_t i = 0; i < request.random.size(); ++i) {
    const RandomStream stream = request.random[i].fork("random");
    for (std::size_t j = 0; j < places; ++j) {
      const bool padding = subject.reads_text() && subject.valid()[i * places + j] == 0;
      result.values.push_back(padding ? 0 : static_cast<double>(stream.uniform(j)));
    }
  }
  return result;
}

}  // namespace

FOVEA_EXPLANATION(random,
                  {.title = "uniform random numbers, as a control",
                   .source = "Wu et al., CVPR 2024",
                   .class_specific = false,
                   .controls = true},
                  schema::Fields<RandomOptions>{}, random_relevance)

}  // namespace fovea::explain
