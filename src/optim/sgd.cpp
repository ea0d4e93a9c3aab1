// Stochastic gradient descent with momentum, PyTorch's rule:
//   g = g + wd p;  buf = momentum buf + (1 - dampening) g  (g itself in the first step)
//   p = p - lr (nesterov ? g + momentum buf : buf)
#include "backend/backend.h"
#include "optim/registry.h"

namespace fovea::optim {
namespace {

struct SgdOptions : OptimiserOptions {
  SgdOptions() { lr = 0.1; }
  double momentum = 0.9;
  double dampening = 0;
  bool nesterov = false;
};

class Sgd final : public Optimiser {
 public:
  Sgd(std::vector<Parameter> parameters, const SgdOptions& options)
      : Optimiser(std::move(parameters), options), options_(options) {}

 private:
  const char* name() const override { return "sgd"; }

  std::vector<std::string> buffer_names() const override {
    if (options_.momentum == 0) return {};
    return {"momentum_buffer"};
  }

  void update(const Update& update, const std::vector<Member>& members) const override {
    std::vector<SgdTensors> of;
    for (const auto& [parameter, gradient, slot] : members)
      of.push_back({gradient, parameter, slot->buffers.empty() ? Tensor() : slot->buffers[0]});
    backend(of.front().param)
        .sgd({.lr = update.lr,
              .momentum = options_.momentum,
              .weight_decay = update.weight_decay,
              .dampening = options_.dampening,
              .nesterov = options_.nesterov,
              .first = update.step == 1,
              .scale = update.scale},
             of);
  }

  SgdOptions options_;
};

schema::Fields<SgdOptions> sgd_fields() {
  return schema::Fields<SgdOptions>{}
      .include(optimiser_fields())
      .add("momentum", &SgdOptions::momentum, schema::at_least(0) && schema::less_than(1),
           "momentum")
      .add("dampening", &SgdOptions::dampening, schema::in_range(0, 1), "dampening of the momentum")
      .add("nesterov", &SgdOptions::nesterov, "look ahead along the momentum")
      .check([](const SgdOptions& options) -> std::string {
        if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
          return "nesterov needs momentum > 0 and dampening 0";
        }
        return "";
      });
}

}  // namespace

OptimiserEntry sgd_optimiser() {
  return {{"", "stochastic gradient descent with momentum",
           std::make_shared<const schema::Fields<SgdOptions>>(sgd_fields())},
          [](const schema::Component& choice, std::vector<Parameter> parameters) {
            return std::make_unique<Sgd>(std::move(parameters),
                                         sgd_fields().parse(choice, "optimizer"));
          }};
}

}  // namespace fovea::optim
