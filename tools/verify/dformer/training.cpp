// The dformer paper's losses, metric, schedule and optimiser, from the words of its golden cases.

#include <fmt/format.h>

#include <cmath>

#include "autograd/graph.h"
#include "metrics/label_maps.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/losses/volume_loss.h"
#include "ops/shape.h"
#include "optim/registry.h"
#include "training/losses/loss.h"
#include "verify/dformer/dformer.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

training::Loss make_loss(const Value& options) {
  return training::make_loss(resolved(training::loss_choices(), options),
                             training::Compares::kLabelMaps);
}

Tensor labels_of(const Case& c) { return ops::cast(c.at("input/target"), DType::kInt64); }

// The losses of a case's file by their names in it.
void run_losses(const Case& c, Checker& check) {
  const auto nnunet = [](bool ce, bool dice, bool background, bool batch) {
    return Value::object({{"type", "nnunet"},
                          {"ce_weight", ce ? 1 : 0},
                          {"dice_weight", dice ? 1 : 0},
                          {"background", background},
                          {"batch_dice", batch}});
  };
  const std::map<std::string, Value> losses = {
      {"ce", nnunet(true, false, false, true)},
      {"dice_batch_bg", nnunet(false, true, true, true)},
      {"dice_batch_nobg", nnunet(false, true, false, true)},
      {"dice_sample_nobg", nnunet(false, true, false, false)},
      {"nnunet", nnunet(true, true, false, true)},
      {"nnunet_sample", nnunet(true, true, false, false)},
      {"paper_eq8", Value::object({{"type", "paper_eq8"}})},
      {"paper_eq8_bce", Value::object({{"type", "paper_eq8"}, {"bce", true}})}};
  c.config().only("smooth", 1e-5);
  c.config().only("dice_den_eps", 1e-8);
  c.config().only("eq8_eps", 1e-5);
  c.config().only("num_classes", c.at("input/logits").size(1));
  c.check_all_read();
  for (const auto& [name, options] : losses) {
    const Tensor logits = ops::clone(c.at("input/logits"));
    logits.set_requires_grad(true);
    const Tensor loss = make_loss(options)({.maps = {logits}}, labels_of(c));
    check.compare("output/" + name, loss);
    autograd::backward(loss);
    check.compare("grad_input/logits/" + name, logits.grad());
  }
}

void run_deep_supervision(const Case& c, Checker& check) {
  const Inputs inputs(c);
  Value options = Value::object(
      {{"type",
        c.config().choice("loss",
                          {{"nnunet", "nnunet"}, {"eq8", "paper_eq8"}, {"paper_eq8", "paper_eq8"}},
                          "nnunet")}});
  take(c, options, {{"batch_dice", "batch_dice"}, {"do_bg", "background"}});
  c.config().only("weights", "1/2^i normalised");
  c.config().only("downsample", "nearest: floor((i+0.5)*in/out)");
  c.check_all_read();
  const Tensor& coarse = inputs.at("logits1");
  const Tensor loss = make_loss(options)({.maps = {inputs.at("logits0"), coarse}},
                                         ops::cast(inputs.at("target"), DType::kInt64));
  inputs.check_all_read();
  check.compare("output/loss", loss);
  check.compare("output/target1",
                ops::nearest_labels(labels_of(c), coarse.shape().part(2, 5).to_vector()));
  autograd::backward(loss);
  for (const char* name : {"logits0", "logits1"})
    check.compare(std::string("grad_input/") + name, inputs.at(name).grad());
}

// The Dice of each class but the background, for every case; both empty is 1.
void run_dice(const Case& c, Checker& check) {
  const std::int64_t classes = c.integer("num_classes");
  c.config().only("empty_both", 1);
  c.config().only("empty_one", 0);
  c.check_all_read();
  const Tensor truth = labels_of(c);
  const Tensor found = ops::cast(c.at("input/pred"), DType::kInt64);
  std::vector<double> all, by_class(static_cast<std::size_t>(classes) - 1, 0.0);
  for (std::int64_t i = 0; i < truth.size(0); ++i) {
    metrics::ConfusionMatrix confusion(classes);
    confusion.add(truth.rows(i, i + 1).host_values<std::int64_t>(),
                  found.rows(i, i + 1).host_values<std::int64_t>());
    const std::vector<double> dice = metrics::class_dice(metrics::class_counts(confusion));
    for (std::size_t k = 1; k < dice.size(); ++k) {
      all.push_back(std::isnan(dice[k]) ? metrics::of_nothing(metrics::Empty::kOne) : dice[k]);
      by_class[k - 1] += all.back() / static_cast<double>(truth.size(0));
    }
  }
  double mean = 0;
  for (const double value : by_class) mean += value / static_cast<double>(by_class.size());
  check.compare("output/dsc_per_case_class", all);
  check.compare("output/dsc_per_class", by_class);
  check.compare("output/dsc_mean", std::vector<double>{mean});
}

void run_poly(const Case& c, Checker& check) {
  for (std::size_t i = 0; i < c.config().size(); ++i) {
    const Config config = c.config().at(i);
    const optim::Schedule schedule = optim::make_schedule(
        resolved(optim::schedule_choices(),
                 Value::object({{"type", "polynomial"}, {"power", config.value("power")}})),
        {config.number("lr0"), config.integer("epochs"), 1});
    std::vector<double> rates;
    for (const double epoch : to_doubles(c.at(fmt::format("input/{}/epoch", i))))
      rates.push_back(schedule(static_cast<std::int64_t>(epoch)));
    check.compare(fmt::format("output/{}/lr", i), rates);
  }
}

}  // namespace

void run_sgd_of_several(const Case& c, Checker& check) {
  std::vector<optim::Parameter> parameters;
  for (const char* name : {"w", "b"}) {
    const Tensor leaf = ops::clone(c.at(std::string("input/") + name));
    leaf.set_requires_grad(true);
    parameters.push_back({name, leaf});
  }
  Value options = Value::object({{"type", "sgd"}});
  take(c, options,
       {{"momentum", "momentum"},
        {"nesterov", "nesterov"},
        {"weight_decay", "weight_decay"},
        {"dampening", "dampening"}});
  const auto optimiser =
      optim::make_optimiser(resolved(optim::optimiser_choices(), options), parameters);
  const std::vector<double> rates = c.config().numbers("lrs");
  const double clip = c.number("clip_grad_norm", 0);
  c.config().only("clip_eps", 1e-6);
  c.check_all_read();
  for (std::size_t step = 0; step < rates.size(); ++step) {
    for (const optim::Parameter& p : parameters)
      p.tensor.set_grad(ops::clone(c.at(fmt::format("input/grad_{}/{}", p.name, step))));
    Tensor scale;
    if (clip > 0) {
      const Tensor square = ops::reshape(optim::grad_square_sum(parameters), {1});
      scale = optim::step_scale(square, clip);
      check.compare(fmt::format("output/grad_norm/{}", step), ops::sqrt(square));
    }
    optimiser->step(rates[step], scale);
    for (const optim::Parameter& p : parameters)
      check.compare(fmt::format("output/{}/{}", p.name, step), p.tensor);
    check.compare(fmt::format("output/momentum_w/{}", step),
                  optimiser->state().at("w.momentum_buffer"));
  }
}

Table dformer_training() {
  Table table;
  table.add("segmentation_losses") = run_losses;
  table.add("deep_supervision_loss") = run_deep_supervision;
  table.add("dsc_metric") = run_dice;
  table.add("poly_lr") = run_poly;
  return table;
}

}  // namespace fovea::verify
