// LAMB (You et al., "Large Batch Optimization for Deep Learning"): Adam's step, as long as a share
// lr of the tensor it is for. timm's order of operations; its clipping of the global norm at 1 is
// train.clip_grad here.
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   u = m / (1 - b1^t) / (sqrt(v) / sqrt(1 - b2^t) + eps) + wd p
//   p = p - lr |p| / |u| u      (|p| / |u| is 1 where one of them is 0, and without weight decay)
#include "optim/moments.h"
#include "optim/registry.h"

namespace fovea::optim {
namespace {

struct LambOptions : MomentOptions {
  LambOptions() {
    weight_decay = 0.01;
    eps = 1e-6;
  }
  bool trust_clip = false;
  bool always_adapt = false;
};

class Lamb final : public MomentOptimiser {
 public:
  Lamb(std::vector<Parameter> parameters, const LambOptions& options)
      : MomentOptimiser(std::move(parameters), options), options_(options) {}

 private:
  const char* name() const override { return "lamb"; }

  void update(const Update& update, const std::vector<Member>& members) const override {
    const std::vector<AdamTensors> of = tensors_of(members);
    backend(of.front().param)
        .lamb({.lr = update.lr,
               .beta1 = options_.betas[0],
               .beta2 = options_.betas[1],
               .eps = options_.eps,
               .weight_decay = update.weight_decay,
               .step = update.step,
               .adapt = update.weight_decay != 0 || options_.always_adapt,
               .trust_clip = options_.trust_clip,
               .scale = update.scale},
              of);
  }

  LambOptions options_;
};

schema::Fields<LambOptions> lamb_fields() {
  return with_moments(schema::Fields<LambOptions>{}.include(optimiser_fields()))
      .add("trust_clip", &LambOptions::trust_clip, "no step is longer than that of Adam")
      .add("always_adapt", &LambOptions::always_adapt,
           "also parameters without weight decay have steps relative to their size");
}

}  // namespace

OptimiserEntry lamb_optimiser() {
  return {{"", "LAMB: steps of Adam relative to the size of each tensor, for large batches",
           std::make_shared<const schema::Fields<LambOptions>>(lamb_fields())},
          [](const schema::Component& choice, std::vector<Parameter> parameters) {
            return std::make_unique<Lamb>(std::move(parameters),
                                          lamb_fields().parse(choice, "optimizer"));
          }};
}

}  // namespace fovea::optim
