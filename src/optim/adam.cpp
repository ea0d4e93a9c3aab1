// Adam (Kingma and Ba), and with decoupled weight decay (Loshchilov and Hutter; dgsa 6.4),
// PyTorch's order of operations:
//   adamw: p = p (1 - lr wd);  adam: g = g + wd p
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   p = p - lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
#include "optim/moments.h"
#include "optim/registry.h"

namespace fovea::optim {
namespace {

class Adam final : public MomentOptimiser {
 public:
  Adam(std::vector<Parameter> parameters, const MomentOptions& options, bool decoupled)
      : MomentOptimiser(std::move(parameters), options), options_(options), decoupled_(decoupled) {}

 private:
  const char* name() const override { return decoupled_ ? "adamw" : "adam"; }

  void update(const Update& update, const std::vector<Member>& members) const override {
    const std::vector<AdamTensors> of = tensors_of(members);
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

  MomentOptions options_;
  bool decoupled_;
};

OptimiserEntry adam_entry(bool decoupled, const std::string& help) {
  MomentOptions defaults;
  defaults.weight_decay = decoupled ? 0.01 : 0;
  const auto fields = std::make_shared<const schema::Fields<MomentOptions>>(
      with_moments(schema::Fields<MomentOptions>(defaults).include(optimiser_fields())));
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
