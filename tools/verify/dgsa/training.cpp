// The dgsa paper's training sequences: the case's batches through the library's own training loop.

#include <fmt/format.h>

#include "verify/case_training.h"
#include "verify/dgsa/dgsa.h"
#include "verify/module_case.h"
#include "verify/recipe.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

std::int64_t steps_of(const Case& c) {
  std::int64_t count = 0;
  while (c.has(fmt::format("input/step{}/labels", count + 1))) ++count;
  return count;
}

void compare_record(const Case& c, const schema::Value& record, Checker& check) {
  const std::string step = fmt::format("output/step{}/", record.at("step").as_int());
  for (const char* name : {"loss", "lr", "grad_norm"}) {
    if (c.has(step + name))
      check.compare(step + name, std::vector<double>{record.at(name).as_double()});
  }
}

// The network makes its own mask of the words that are there; the case says which they are.
void compare_masks(const Case& c, std::int64_t steps, Checker& check) {
  for (std::int64_t k = 1; k <= steps; ++k) {
    const std::string mask = fmt::format("input/step{}/mask", k);
    if (!c.has(mask)) continue;
    std::vector<double> words;
    for (const double id : to_doubles(c.at(fmt::format("input/step{}/ids", k))))
      words.push_back(id == 0 ? 0 : 1);
    check.compare(mask, words);
  }
}

void run_training(const Case& c, Checker& check) {
  const auto model = make_network(c, c.given("vocab_size"));
  std::vector<optim::Parameter> parameters;
  for (const nn::NamedTensor& named : model->parameters())
    parameters.push_back({named.name, named.tensor});
  training::TrainerSetup setup;
  setup.train.clip_grad = c.number("clip_max_norm", 0);
  const bool by_epoch = c.given("epochs");
  const std::int64_t steps = steps_of(c);
  // The schedule is planned for longer than the case goes.
  const std::int64_t per_epoch = by_epoch ? c.integer("steps_per_epoch", 1) : steps;
  if (by_epoch) {
    setup.train.epochs = c.integer("T_max") + 1;
    c.config().only("epochs", steps / per_epoch);
  } else {
    setup.train.steps = c.integer("total_steps");
    c.config().only("steps", steps);
  }
  setup.optimizer = adamw_of(c);
  setup.schedule = by_epoch ? cosine_of(c) : warmup_linear_of(c);
  load_parameters(c, *model, check);
  if (!check.passed()) return;
  const CaseTraining run{
      *model, training::make_loss({"cross_entropy", {}}, training::Compares::kClasses), steps,
      per_epoch, [&](std::int64_t step) -> CaseStep {
        const std::string name = fmt::format("input/step{}/", step + 1);
        const Tensor& x = c.at(name + (c.has(name + "ids") ? "ids" : "x"));
        return {models::only_input(model->interface(), x), c.at(name + "labels")};
      }};
  train_case(c, run, std::move(setup),
             [&](const schema::Value& record) { compare_record(c, record, check); });
  compare_masks(c, steps, check);
  for (const optim::Parameter& p : parameters)
    check.compare("output/final_param/" + p.name, p.tensor);
}

}  // namespace

Table dgsa_training() {
  Table table;
  table.add("train_step_sequence") = run_training;
  return table;
}

}  // namespace fovea::verify
