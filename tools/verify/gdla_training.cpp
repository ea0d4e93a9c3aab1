// The gdla paper's recipe: its schedule, and steps of its networks through the training loop.

#include <fmt/format.h>

#include "models/model.h"
#include "ops/elementwise.h"
#include "optim/registry.h"
#include "verify/case_training.h"
#include "verify/gdla.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;

// The rate of update t; in training step k takes that of k - 1 (lag 1).
void run_schedule(const Case& c, Checker& check) {
  for (const auto& [name, length, origin] : c.config().at("configs").members()) {
    const std::int64_t per_epoch = length.at("iters_per_epoch").as_int();
    const Value options = Value::object({{"type", "cosine"},
                                         {"unit", "step"},
                                         {"warmup_epochs", length.at("warmup_epochs")},
                                         {"warmup_lr", c.number("warmup_lr")},
                                         {"warmup_prefix", c.flag("warmup_prefix")},
                                         {"min_lr", c.number("min_lr")},
                                         {"lag", 1}});
    const optim::Schedule schedule = optim::make_schedule(
        resolved(optim::schedule_choices(), options),
        {c.number("base_lr"), per_epoch * length.at("epochs").as_int(), per_epoch});
    std::vector<double> rates;
    for (const double t : to_doubles(c.at("input/" + name + "_t")))
      rates.push_back(schedule(static_cast<std::int64_t>(t) + 1));
    check.compare("output/" + name + "_lr", rates);
  }
}

training::Loss loss_of(const Case& c) {
  Value options = Value::object({{"type", "boundary_dou"}});
  if (c.text("loss") == "dicece")
    options = Value::object({{"type", "squared_dice"}, {"dice_weight", 0.5}, {"ce_weight", 0.5}});
  return training::make_loss(resolved(training::loss_choices(), options),
                             training::Compares::kLabelMaps);
}

void run_steps(const Case& c, Checker& check) {
  const auto model =
      models::make(resolved(models::entries().choices(), gdla_decoder(c)), build_for(c), {});
  load_parameters(c, *model, check);
  if (!check.passed()) return;
  training::TrainerSetup setup;
  setup.train.clip_grad = c.number("max_grad_norm");
  setup.train.steps = c.integer("steps") + 1;  // the case ends before the run would
  setup.optimizer = resolved(optim::optimiser_choices(),
                             Value::object({{"type", "adamw"},
                                            {"lr", c.number("lr")},
                                            {"betas", c.config().at("betas")},
                                            {"eps", c.number("eps")},
                                            {"weight_decay", c.number("weight_decay")},
                                            {"no_decay", "one_dimensional"}}));
  setup.schedule = resolved(optim::schedule_choices(), Value::object({{"type", "constant"}}));
  const CaseTraining run{
      *model, loss_of(c), c.integer("steps"), c.integer("steps"), [&](std::int64_t step) {
        return CaseStep{{.image = c.at(fmt::format("input/image_{}", step))},
                        ops::cast(c.at(fmt::format("input/labels_{}", step)), DType::kInt64)};
      }};
  std::vector<double> losses, norms;
  train_case(c, run, std::move(setup), [&](const Value& record) {
    losses.push_back(record.at("loss").as_double());
    norms.push_back(record.at("grad_norm").as_double());
  });
  check.compare("output/loss", losses);
  check.compare("output/grad_norm", norms);
  std::map<std::string, Tensor> own;
  for (const nn::NamedTensor& named : model->parameters()) own[named.name] = named.tensor;
  for (const nn::NamedTensor& named : model->buffers()) own[named.name] = named.tensor;
  for (const auto& [name, value] : c.below("param_after/"))
    check.compare("param_after/" + name, own[model->own_name(name)]);
}

}  // namespace

Table gdla_training() {
  Table table;
  table.add("cosine_warmup_schedule") = run_schedule;
  table.add("train_steps") = run_steps;
  return table;
}

}  // namespace fovea::verify
