// Adam (Kingma and Ba), and with decoupled weight decay (Loshchilov and Hutter; dgsa 6.4),
// PyTorch's order of operations:
//   adamw: p = p (1 - lr wd);  adam: g = g + wd p
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   p = p - lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
#include <array>

#include "backend/backend.h"
#include "optim/registry.h"

namespace fovea::optim {
namespace {

struct AdamOptions : OptimiserOptions {
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
};

class Adam final : public Optimiser {
 public:
  Adam(std::vector<Parameter> parameters, const AdamOptions& options, bool decoupled)
      : Optimiser(std::move(parameters), options), options_(options), decoupled_(decoupled) {}

 private:
  const char* name() const override { return decoupled_ ? "adamw" : "adam"; }

  std::vector<std::string> buffer_names() const override { return {"exp_avg", "exp_avg_sq"}; }

  void update(const Update& update, const std::vector<Member>& members) const override {
    std::vector<AdamTensors> of;
    for (const auto& [parameter, gradient, slot] : members)
      of.push_back({gradient, parameter, slot->buffers[0], slot->buffers[1]});
    backend(of.front().param)
        .adam({.lr = update.lr,
               .beta1 = options_.betas[0],
               .beta2 = options_.betas[1],
               .eps = options_.eps,
               .weight_decay = update.weight_decay,
               .decoupled = decoupled_,
               .step = update.step,
               .scale = update.scale},
              of);
  }

  AdamOptions options_;
  bool decoupled_;
};

OptimiserEntry adam_entry(bool decoupled, const std::string& help) {
  AdamOptions defaults;
  defaults.weight_decay = decoupled ? 0.01 : 0;
  const auto fields = std::make_shared<const schema::Fields<AdamOptions>>(
      schema::Fields<AdamOptions>(defaults)
          .include(optimiser_fields())
          .add("betas", &AdamOptions::betas, schema::at_least(0) && schema::less_than(1),
               "decay of the running means of the gradient and of its square")
          .add("eps", &AdamOptions::eps, schema::greater_than(0), "added to the denominator"));
  return {{"", help, fields},
          [=](const schema::Component& choice, std::vector<Parameter> parameters) {
            return std::make_unique<Adam>(std::move(parameters), fields->parse(choice, "optimizer"),
                                          decoupled);
          }};
}

}  // namespace

OptimiserEntry adam_optimiser() {
  return adam_entry(false, "Adam with weight decay in the gradient");
}

OptimiserEntry adamw_optimiser() { return adam_entry(true, "Adam with decoupled weight decay"); }

}  // namespace fovea::optim
