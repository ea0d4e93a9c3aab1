// The gradient of a score with respect to the input, alone and times the input. explain A.9.
#include "explain/methods/places.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

struct InputGradientOptions {
  Reduce reduce = Reduce::kAbsMax;
};

std::vector<double> gradient_of(const ExplanationRequest& request) {
  return host_doubles(request.subject.gradient(request.subject.x(), request.targets));
}

Explanation input_gradient(const ExplanationRequest& request, const InputGradientOptions& o) {
  return of_places(request.subject, gradient_of(request), o.reduce);
}

Explanation gradient_x_input(const ExplanationRequest& request, const InputGradientOptions& o) {
  std::vector<double> product = gradient_of(request);
  const std::vector<double> x = host_doubles(request.subject.x());
  for (std::size_t i = 0; i < x.size(); ++i) product[i] *= x[i];
  return of_places(request.subject, product, o.reduce);
}

schema::Fields<InputGradientOptions> reduce_field(Reduce reduce) {
  schema::Fields<InputGradientOptions> fields(InputGradientOptions{reduce});
  return add_reduce(fields);
}

}  // namespace

FOVEA_EXPLANATION(input_gradient,
                  {.title = "gradient of the input",
                   .source = "Simonyan et al., 2013",
                   .per_pixel = true},
                  reduce_field(Reduce::kAbsMax), input_gradient)
FOVEA_EXPLANATION(gradient_x_input,
                  {.title = "gradient of the input times the input",
                   .source = "Shrikumar et al., 2016",
                   .per_pixel = true},
                  reduce_field(Reduce::kSum), gradient_x_input)

}  // namespace fovea::explain
