// The gdla paper's losses, from the words of its golden cases to the options of experiment files.

#include <fmt/format.h>

#include "autograd/graph.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "training/losses/loss.h"
#include "verify/gdla/gdla.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

// The case's logits, the finest map first, against its labels.
void run_loss(const Case& c, const Value& options, Checker& check) {
  const Inputs inputs(c);
  c.check_all_read();
  models::Outputs outputs;
  if (inputs.contains("logits")) outputs.maps.push_back(inputs.at("logits"));
  for (int n = 1; inputs.contains(fmt::format("p{}", n)); ++n)
    outputs.maps.push_back(inputs.at(fmt::format("p{}", n)));
  const auto loss = training::make_loss(resolved(training::loss_choices(), options),
                                        training::Compares::kLabelMaps);
  const Tensor y = loss(outputs, inputs.at("labels"));
  inputs.check_all_read();
  check.compare("output/y", y);
  autograd::backward(ops::sum(ops::mul(y, c.at("upstream/y"))));
  inputs.compare_gradients(check);
}

// The paper's Dice: squares over the whole batch.
void square_over_batch(Value& options) {
  options.set("squared_pred", true);
  options.set("batch", true);
}

Runner loss_runner(const char* type) {
  return [type](const Case& c, Checker& check) {
    Value options = Value::object(
        {{"type", type},
         {"smooth", c.number("eps", 1e-5)},
         {"sigmoid",
          c.config().choice("activation", {{"softmax", false}, {"sigmoid", true}}, false)}});
    c.config().only("n_classes", c.at("input/logits").size(1));
    c.config().only("reduction", "mean over all classes including background");
    c.config().only("alpha_max", 0.8);
    if (std::string_view(type).starts_with("dice")) square_over_batch(options);
    take(c, options,
         {{"class_weight", "class_weights"},
          {"lambda_dice", "dice_weight"},
          {"lambda_ce", "ce_weight"}});
    run_loss(c, options, check);
  };
}

void run_mutation(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "dice_ce"}, {"map_subsets", true}});
  square_over_batch(options);
  take(c, options, {{"w_dice", "dice_weight"}, {"w_ce", "ce_weight"}});
  std::int64_t maps = 0;
  while (c.has(fmt::format("input/p{}", maps + 1))) ++maps;
  c.config().only("n_outputs", maps);
  c.config().only("n_classes", c.at("input/p1").size(1));
  c.config().only("terms", fmt::format("all {} non-empty subsets of the {} outputs, logits of a "
                                       "subset are summed, loss terms are summed",
                                       (std::int64_t{1} << maps) - 1, maps));
  run_loss(c, options, check);
}

}  // namespace

Table gdla_losses() {
  Table table;
  table.add("loss_boundary_dou") = loss_runner("boundary_dou");
  table.add("loss_dice") = loss_runner("dice");
  table.add("loss_dice_ce") = loss_runner("dice_ce");
  table.add("loss_emcad_mutation") = run_mutation;
  return table;
}

}  // namespace fovea::verify
