// What the optimisers share that keep running means of the gradient and of its square.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "optim/optimiser.h"

namespace fovea::optim {

struct MomentOptions : OptimiserOptions {
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
};

/// These options.
template <class Options>
schema::Fields<Options> with_moments(schema::Fields<Options> fields) {
  return fields
      .add("betas", &Options::betas, schema::at_least(0) && schema::less_than(1),
           "decay of the running means of the gradient and of its square")
      .add("eps", &Options::eps, schema::greater_than(0), "added to the denominator");
}

class MomentOptimiser : public Optimiser {
 protected:
  using Optimiser::Optimiser;

  std::vector<std::string> buffer_names() const final { return {"exp_avg", "exp_avg_sq"}; }

  static std::vector<AdamTensors> tensors_of(const std::vector<Member>& members) {
    std::vector<AdamTensors> of;
    for (const auto& [parameter, gradient, slot] : members)
      of.push_back({gradient, parameter, slot->buffers[0], slot->buffers[1]});
    return of;
  }
};

}  // namespace fovea::optim
