// Lion (Chen et al., "Symbolic Discovery of Optimization Algorithms"), with decoupled weight decay:
//   p = p (1 - lr wd) - lr sign(b1 m + (1 - b1) g);  m = b2 m + (1 - b2) g
#include <array>

#include "backend/backend.h"
#include "optim/registry.h"

namespace fovea::optim {
namespace {

struct LionOptions : OptimiserOptions {
  LionOptions() { lr = 1e-4; }
  std::array<double, 2> betas = {0.9, 0.99};
};

class Lion final : public Optimiser {
 public:
  Lion(std::vector<Parameter> parameters, const LionOptions& options)
      : Optimiser(std::move(parameters), options), options_(options) {}

 private:
  const char* name() const override { return "lion"; }

  std::vector<std::string> buffer_names() const override { return {"exp_avg"}; }

  void update(const Update& update, const std::vector<Member>& members) const override {
    std::vector<LionTensors> of;
    for (const auto& [parameter, gradient, slot] : members)
      of.push_back({gradient, parameter, slot->buffers[0]});
    backend(of.front().param)
        .lion({.lr = update.lr,
               .beta1 = options_.betas[0],
               .beta2 = options_.betas[1],
               .weight_decay = update.weight_decay,
               .scale = update.scale},
              of);
  }

  LionOptions options_;
};

schema::Fields<LionOptions> lion_fields() {
  return schema::Fields<LionOptions>{}
      .include(optimiser_fields())
      .add("betas", &LionOptions::betas, schema::at_least(0) && schema::less_than(1),
           "share of the running mean in the step, and its decay");
}

}  // namespace

OptimiserEntry lion_optimiser() {
  return {{"", "Lion: steps of the sign of a running mean, with decoupled weight decay",
           std::make_shared<const schema::Fields<LionOptions>>(lion_fields())},
          [](const schema::Component& choice, std::vector<Parameter> parameters) {
            return std::make_unique<Lion>(std::move(parameters),
                                          lion_fields().parse(choice, "optimizer"));
          }};
}

}  // namespace fovea::optim
