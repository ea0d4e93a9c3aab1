// The mala paper's recipe for image classification, and the scores behind its figure 2.

#include <fmt/format.h>

#include <algorithm>

#include "autograd/graph.h"
#include "data/augment/mix.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/losses/loss.h"
#include "optim/ema.h"
#include "optim/registry.h"
#include "training/losses/loss.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"
#include "visualise/maps/magnitude.h"

namespace fovea::verify {
namespace {

using schema::Value;

// Targets of labels alone, and of mixed labels; the smoothing is that of the loss.
void run_classification_losses(const Case& c, Checker& check) {
  const Inputs inputs(c);
  const Tensor labels = c.on_host("input/labels");
  const double smoothing = c.number("smoothing");
  const Tensor mixed =
      ops::to(data::mixed_targets(labels, c.integer("num_classes"), c.number("lam")), c.device());
  c.check_all_read();
  check.compare("output/target", ops::smoothed_target(mixed, smoothing));
  const auto loss = training::make_loss(
      resolved(training::loss_choices(),
               Value::object({{"type", "cross_entropy"}, {"label_smoothing", smoothing}})),
      training::Compares::kClasses);
  const models::Outputs output{.logits = inputs.at("logits")};
  const Tensor soft = loss(output, mixed);
  const Tensor hard = loss(output, inputs.at("labels"));
  check.compare("output/soft_ce", soft);
  check.compare("output/label_smoothing_ce", hard);
  autograd::backward(ops::add(ops::mul(soft, c.at("upstream/soft_ce")),
                              ops::mul(hard, c.at("upstream/label_smoothing_ce"))));
  check.compare("grad_input/logits", inputs.at("logits").grad());
}

// One step an epoch. The case holds rates times 1000.
void run_schedule(const Case& c, Checker& check) {
  const auto compare = [&](const char* key, std::int64_t lag) {
    Value options = Value::object({{"type", "cosine"}, {"unit", "epoch"}, {"lag", lag}});
    take(c, options,
         {{"warmup_epochs", "warmup_epochs"},
          {"warmup_lr", "warmup_lr"},
          {"min_lr", "min_lr"},
          {"warmup_prefix", "warmup_prefix"}});
    const optim::Schedule schedule =
        optim::make_schedule(resolved(optim::schedule_choices(), options),
                             {c.number("base_lr"), c.integer("epochs"), 1});
    std::vector<double> rates;
    for (std::int64_t epoch = 0; epoch < c.at(key).numel(); ++epoch)
      rates.push_back(1000 * schedule(epoch));
    check.compare(key, rates);
  };
  compare("output/value", 0);
  compare("output/used_in_epoch", c.flag("step_after_epoch") ? 1 : 0);
}

// Weights w0 to begin with, then w1, w2, ... after each step.
void run_ema(const Case& c, Checker& check) {
  const Tensor weight = ops::clone(c.at("input/w0"));
  optim::Ema ema({{"w", weight}}, c.number("decay"));
  c.check_all_read();
  std::vector<double> averages;
  for (std::int64_t step = 1; c.has(fmt::format("input/w{}", step)); ++step) {
    ops::copy_into(c.at(fmt::format("input/w{}", step)), weight);
    ema.update();
    for (const double value : to_doubles(ema.state().at("w"))) averages.push_back(value);
  }
  check.compare("output/ema", averages);
}

void run_magnitude(const Case& c, Checker& check) {
  const std::vector<double> factors = c.config().numbers("factors");
  c.config().only("eps", 0);
  c.config().only("kernel", "already applied");
  c.config().only("scaling", "head_dim_mean");
  c.check_all_read();
  const std::vector<double> q = to_doubles(c.at("input/phi_q"));
  const std::vector<double> keys = to_doubles(c.at("input/phi_k"));
  const auto compare = [&](const char* key, const auto& scores_of) {
    std::vector<double> all;
    for (const double factor : factors) {
      std::vector<double> scaled = q;
      for (double& value : scaled) value *= factor;
      for (const double score : scores_of(scaled, keys)) all.push_back(score);
    }
    check.compare(key, all);
  };
  compare("output/softmax", visualise::softmax_scores);
  compare("output/linear", visualise::linear_scores);
  compare("output/mala", visualise::mala_scores);
}

}  // namespace

Table mala_recipe() {
  Table table;
  table.add("cls_losses") = run_classification_losses;
  table.add("lr_schedule") = run_schedule;
  table.add("ema") = run_ema;
  table.add("magnitude_response") = run_magnitude;
  return table;
}

}  // namespace fovea::verify
