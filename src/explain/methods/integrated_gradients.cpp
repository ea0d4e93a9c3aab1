// Gradients along the straight way from a baseline to the input. explain A.11.
#include <algorithm>

#include "explain/methods/places.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

struct IntegratedGradientsOptions : BaselineOptions {
  PathRule rule = PathRule::kGaussLegendre;
  std::int64_t steps = 50;
  Reduce reduce = Reduce::kSum;
};

// sum(a) - (z_c(x) - z_c(b)), for each sample.
std::vector<double> gaps(const ExplanationRequest& request, const Tensor& base,
                         const std::vector<double>& attribution) {
  const Subject& subject = request.subject;
  const auto at_x = subject.target_scores(subject.x(), request.targets);
  const auto at_base = subject.target_scores(base, request.targets);
  const std::size_t each = attribution.size() / at_x.size();
  std::vector<double> result;
  for (std::size_t i = 0; i < at_x.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < each; ++j) sum += attribution[i * each + j];
    result.push_back(sum - (at_x[i] - at_base[i]));
  }
  return result;
}

Explanation integrated_gradients(const ExplanationRequest& request,
                                 const IntegratedGradientsOptions& o) {
  const Subject& subject = request.subject;
  const Tensor base = baseline_of(request, o, "integrated_gradients");
  const Tensor way = ops::sub(subject.x(), base);
  const PathNodes nodes = path_nodes(o.rule, o.steps);
  const auto each = static_cast<std::size_t>(way.numel());
  std::vector<double> attribution(each, 0.0);
  for (std::size_t first = 0; first < nodes.at.size();) {
    const std::size_t count =
        std::min(static_cast<std::size_t>(groups_of(request)), nodes.at.size() - first);
    std::vector<Tensor> points;
    for (std::size_t k = first; k < first + count; ++k)
      points.push_back(ops::add(base, ops::mul(way, nodes.at[k])));
    const std::vector<double> gradients =
        host_doubles(subject.gradient(ops::concat(points, 0), request.targets));
    for (std::size_t i = 0; i < gradients.size(); ++i)
      attribution[i % each] += nodes.weights[first + i / each] * gradients[i];
    first += count;
  }
  const std::vector<double> lengths = host_doubles(way);
  for (std::size_t i = 0; i < each; ++i) attribution[i] *= lengths[i];
  Explanation result = of_places(subject, attribution, o.reduce);
  result.completeness_gap = gaps(request, base, attribution);
  return result;
}

schema::Fields<IntegratedGradientsOptions> integrated_gradients_fields() {
  schema::Fields<IntegratedGradientsOptions> fields;
  fields
      .add_enum("rule", &IntegratedGradientsOptions::rule,
                {{"gauss_legendre", PathRule::kGaussLegendre},
                 {"midpoint", PathRule::kMidpoint},
                 {"right", PathRule::kRight},
                 {"trapezoid", PathRule::kTrapezoid}},
                "where along the way gradients are taken, and their weights")
      .add("steps", &IntegratedGradientsOptions::steps, schema::at_least(1),
           "gradients along the way");
  add_baseline(fields);
  return add_reduce(fields);
}

}  // namespace

FOVEA_EXPLANATION(integrated_gradients,
                  {.title = "gradients on the way from a baseline to the input, times the way",
                   .source = "Sundararajan et al., 2017",
                   .per_pixel = true},
                  integrated_gradients_fields(), integrated_gradients)

}  // namespace fovea::explain
