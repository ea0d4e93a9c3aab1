// Adam with decoupled weight decay (Loshchilov and Hutter; dgsa 6.4), PyTorch's order of
// operations:
//   p = p (1 - lr wd);  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   p = p - lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
#include <array>

#include "backend/backend.h"
#include "optim/registry.h"

namespace fovea::optim {
namespace {

struct AdamWOptions : OptimiserOptions {
  AdamWOptions() { weight_decay = 0.01; }
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
};

class AdamW final : public Optimiser {
 public:
  AdamW(std::vector<Parameter> parameters, const AdamWOptions& options)
      : Optimiser(std::move(parameters), options), options_(options) {}

 private:
  const char* name() const override { return "adamw"; }

  std::vector<std::string> buffer_names() const override { return {"exp_avg", "exp_avg_sq"}; }

  void update(const Update& update, const std::vector<Member>& members) const override {
    std::vector<AdamWTensors> of;
    for (const auto& [parameter, gradient, slot] : members)
      of.push_back({gradient, parameter, slot->buffers[0], slot->buffers[1]});
    backend(of.front().param)
        .adamw({.lr = update.lr,
                .beta1 = options_.betas[0],
                .beta2 = options_.betas[1],
                .eps = options_.eps,
                .weight_decay = update.weight_decay,
                .step = update.step,
                .scale = update.scale},
               of);
  }

  AdamWOptions options_;
};

schema::Fields<AdamWOptions> adamw_fields() {
  return schema::Fields<AdamWOptions>{}
      .include(optimiser_fields())
      .add("betas", &AdamWOptions::betas, schema::at_least(0) && schema::less_than(1),
           "decay of the running means of the gradient and of its square")
      .add("eps", &AdamWOptions::eps, schema::greater_than(0), "added to the denominator");
}

}  // namespace

OptimiserEntry adamw_optimiser() {
  return {{"", "Adam with decoupled weight decay",
           std::make_shared<const schema::Fields<AdamWOptions>>(adamw_fields())},
          [](const schema::Component& choice, std::vector<Parameter> parameters) {
            return std::make_unique<AdamW>(std::move(parameters),
                                           adamw_fields().parse(choice, "optimizer"));
          }};
}

}  // namespace fovea::optim
