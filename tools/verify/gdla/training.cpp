// The gdla paper's recipe: its schedule, and steps of its networks through the training loop.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/model.h"
#include "ops/elementwise.h"
#include "optim/registry.h"
#include "verify/case_training.h"
#include "verify/gdla/gdla.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;

// The rate of update t; in training step k takes that of k - 1 (lag 1).
void run_schedule(const Case& c, Checker& check) {
  c.config().only("per",
                  "update index t; the k-th optimiser step (k=0,1,..) runs with lr(max(k-1,0))");
  const Config configs = c.config().at("configs");
  for (const std::string& name : configs.keys()) {
    const Config length = configs.at(name);
    const std::int64_t per_epoch = length.integer("iters_per_epoch");
    const Value options = Value::object({{"type", "cosine"},
                                         {"unit", "step"},
                                         {"warmup_epochs", length.value("warmup_epochs")},
                                         {"warmup_lr", c.number("warmup_lr")},
                                         {"warmup_prefix", c.flag("warmup_prefix")},
                                         {"min_lr", c.number("min_lr")},
                                         {"lag", 1}});
    const optim::Schedule schedule = optim::make_schedule(
        resolved(optim::schedule_choices(), options),
        {c.number("base_lr"), per_epoch * length.integer("epochs"), per_epoch});
    std::vector<double> rates;
    for (const double t : to_doubles(c.at("input/" + name + "_t")))
      rates.push_back(schedule(static_cast<std::int64_t>(t) + 1));
    check.compare("output/" + name + "_lr", rates);
  }
}

training::Loss loss_of(const Case& c) {
  Value options = Value::object({{"type", "boundary_dou"}});
  const std::size_t maps =
      c.flag("deepsupervision") ? c.config().integers("n_heads").size() : std::size_t{1};
  c.config().only("loss_total", fmt::format("sum of the criterion over the {} outputs", maps));
  if (c.config().choice("loss", {{"bdou", false}, {"dicece", true}}, false))
    options = Value::object({{"type", "dice_ce"},
                             {"squared_pred", true},
                             {"batch", true},
                             {"dice_weight", 0.5},
                             {"ce_weight", 0.5}});
  return training::make_loss(resolved(training::loss_choices(), options),
                             training::Compares::kLabelMaps);
}

// The rule of these cases' notes. Adam divides a gradient by its own size, so that one which is
// zero but for rounding (of the bias of keys, which softmax does not see) moves a parameter by up
// to the rate in every step: single elements may be `reach` apart, but not in the mean over all.
void check_weights(const Case& c,
                   const std::function<std::vector<double>(const std::string&)>& own_values,
                   double reach, Checker& check) {
  constexpr double kMean = 1e-6;
  double sum = 0, count = 0;
  for (const auto& [name, value] : c.below("param_after/")) {
    const std::vector<double> got = own_values(name), expected = to_doubles(value);
    check.compare_within("param_after/" + name, got, reach);
    for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i)
      sum += std::abs(got[i] - expected[i]);
    count += static_cast<double>(expected.size());
  }
  if (!(sum <= kMean * count))
    check.fail(
        fmt::format("param_after: {:.3g} apart in the mean of {} elements; at most {} allowed",
                    sum / count, count, kMean));
}

const char* decay_rule(const Case& c) {
  return c.config().choice("decay_rule",
                           {{"no decay for 1-D parameters and *.bias", "one_dimensional"},
                            {"decay for all parameters", "none"}},
                           "none");
}

void run_steps(const Case& c, Checker& check) {
  const auto model =
      models::make_model(resolved(models::entries().choices(), gdla_decoder(c)), build_for(c), {});
  training::TrainerSetup setup;
  setup.train.clip_grad = c.number("max_grad_norm", 0);
  c.config().only("optimizer", "AdamW");
  c.config().only("batch_norm", "train mode");
  c.config().only("drop_path", 0);
  setup.train.steps = c.integer("steps") + 1;  // the case ends before the run would
  setup.optimizer = resolved(optim::optimiser_choices(),
                             Value::object({{"type", "adamw"},
                                            {"lr", c.number("lr")},
                                            {"betas", c.value("betas")},
                                            {"eps", c.number("eps")},
                                            {"weight_decay", c.number("weight_decay")},
                                            {"no_decay", decay_rule(c)}}));
  setup.schedule = resolved(optim::schedule_choices(), Value::object({{"type", "constant"}}));
  const training::Loss loss = loss_of(c);
  load_parameters(c, *model, check);
  if (!check.passed()) return;
  const CaseTraining run{
      *model, loss, c.integer("steps"), c.integer("steps"), [&](std::int64_t step) {
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
  const auto own_values = [&](const std::string& name) {
    return to_doubles(own[model->own_name(name)]);
  };
  check_weights(c, own_values, 2 * c.number("lr") * static_cast<double>(run.steps), check);
}

}  // namespace

Table gdla_training() {
  Table table;
  table.add("cosine_warmup_schedule") = run_schedule;
  table.add("train_steps") = run_steps;
  return table;
}

}  // namespace fovea::verify
