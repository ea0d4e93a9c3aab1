// One optimiser step up to the gradients, and what happens when a value is not finite.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include "autograd/graph.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "base/file.h"
#include "ops/batch_statistics.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "training/shared_results.h"
#include "training/store/weights.h"
#include "training/trainer.h"

namespace fovea::training {

// Its loss, and the gradients of its share of the mean over all samples of the step: each counts by
// its true size, so that an incomplete last group is weighted rightly.
Task::LossParts Trainer::micro_batch(const Group& group, std::size_t i, std::int64_t step) {
  const auto place = static_cast<std::size_t>(group.places[i]);
  task_.set_random(RandomStream(setup_.seed)
                       .fork("train")
                       .fork(static_cast<std::uint64_t>(step))
                       .fork(static_cast<std::uint64_t>(place)));
  Task::LossParts loss = task_.loss_parts(group.batches[i]);
  const bool whole = group.shares.size() == 1;
  autograd::backward(whole ? loss.sum : ops::mul(loss.sum, group.shares[place]));
  return {loss.sum.detach(), std::move(loss.parts)};
}

// Gradients of the mean over all samples of the group, and the losses of its micro-batches, those
// of other ranks too.
std::vector<Task::LossParts> Trainer::forward_backward(const Group& group, std::int64_t step) {
  SharedResults results(task_.model(), ranks_);
  std::size_t next = 0;
  for (std::int64_t round = group.begin; round < group.end; round += ranks_.size()) {
    std::vector<bool> adds;
    for (std::int64_t number = round; number < round + ranks_.size(); ++number)
      adds.push_back(std::ranges::binary_search(group.numbers, number));
    const ops::SharedBatch shared{
        [&](const std::vector<double>& own) { return gathered(adds, own); },
        std::ranges::find(adds, true) - adds.begin() == ranks_.rank()};
    sum_->add(adds, round + ranks_.size() >= group.end, [&] {
      std::optional<ops::ShareStatistics> sharing;
      if (setup_.train.sync_batch_norm && !ranks_.alone()) sharing.emplace(shared);
      results.add(group.places[next], micro_batch(group, next, step));
      ++next;
    });
  }
  sum_->finish();
  return results.finish();
}

Trainer::StepScalars Trainer::gradients(const Group& group) {
  const std::vector<optim::Parameter>& parameters = optimiser_->parameters();
  std::vector<Task::LossParts> losses;
  try {
    const autograd::DetectAnomaly detect(setup_.train.detect_anomaly);
    losses = forward_backward(group, state_.step);
  } catch (const NumericError& error) {
    throw NumericError(fmt::format("step {}: {}", state_.step, error.what()));
  }
  std::vector<Tensor> scalars;
  std::vector<std::string> names;
  for (const Task::LossParts& loss : losses) scalars.push_back(loss.sum);
  for (const Task::LossParts& loss : losses) {
    for (const auto& [name, part] : loss.parts) {
      names.push_back(name);
      scalars.push_back(part);
    }
  }
  scalars.push_back(optim::grad_square_sum(parameters));
  const DType wide = scalars.back().dtype();
  for (Tensor& scalar : scalars) scalar = ops::reshape(ops::cast(scalar, wide), {1});
  const double limit = setup_.train.clip_grad;
  if (limit > 0 && setup_.train.clip_mode == ClipMode::kValue)
    optim::clip_grad_value(parameters, limit);
  return {ops::concat(scalars, 0), std::move(names)};
}

Trainer::Numbers Trainer::numbers_of(const Tensor& scalars) {
  return [read = scalars.read_later(), dtype = scalars.dtype(), count = scalars.numel()] {
    std::vector<double> numbers(static_cast<std::size_t>(count));
    if (dtype == DType::kFloat64) {
      read(numbers.data());
    } else {
      std::vector<float> narrow(numbers.size());
      read(narrow.data());
      std::copy(narrow.begin(), narrow.end(), numbers.begin());
    }
    return numbers;
  };
}

Trainer::StepResult Trainer::checked(const std::vector<double>& numbers,
                                     const std::vector<std::string>& part_names, const Group& group,
                                     std::int64_t step) {
  StepResult result;
  const std::vector<double>& shares = group.shares;
  for (std::size_t i = 0; i < shares.size(); ++i) result.loss += shares[i] * numbers[i];
  const std::size_t parts = part_names.size() / shares.size();  // all micro-batches have the same
  for (std::size_t k = 0; k < part_names.size(); ++k)
    result.parts[part_names[k]] += shares[k / parts] * numbers[shares.size() + k];
  result.grad_norm = std::sqrt(numbers.back());
  if (!std::isfinite(result.loss)) explain("loss", result.loss, group, step);
  if (!std::isfinite(result.grad_norm)) explain("gradient norm", result.grad_norm, group, step);
  return result;
}

// All randomness of a step is a function of its number, so the same step can be run again with
// every operation checked: here this rank's part of it. "" if nothing was found.
std::string Trainer::replayed(const Group& group, std::int64_t step) {
  std::string cause;
  optimiser_->zero_grad();
  try {
    const autograd::DetectAnomaly detect(true);
    for (std::size_t i = 0; i < group.batches.size(); ++i) micro_batch(group, i, step);
  } catch (const NumericError& error) {
    cause = error.what();
  }
  optimiser_->zero_grad();
  return cause;
}

// The first rank that finds a cause keeps its part of the step.
void Trainer::explain(const std::string& what, double value, const Group& group,
                      std::int64_t step) {
  state_.step = step;  // which changed nothing
  require_claim();
  const std::vector<std::string> causes = ranks_.gather(replayed(group, step));
  const auto found = std::ranges::find_if(causes, [](const auto& cause) { return !cause.empty(); });
  const std::int64_t blamed = found == causes.end() ? 0 : found - causes.begin();
  const std::string cause =
      found == causes.end() ? "a replay of the step found no operation to blame" : *found;
  std::string saved;
  if (log_) {
    if (blamed == ranks_.rank()) save_failed_step(group, step);
    ranks_.meet();  // before all end
    saved = fmt::format("; replay saved in nan-step-{}/", step);
  }
  const std::string line = fmt::format("step {}: {} is {}; {}{}", step, what, value, cause, saved);
  if (log_) log_->text(line);
  throw NumericError(line);
}

void Trainer::save_failed_step(const Group& group, std::int64_t step) const {
  const io::fs::path folder = setup_.run_folder / fmt::format("nan-step-{}", step);
  io::make_directories(folder);
  TensorFile weights;
  weights.tensors = to_host(named_tensors(task_.model()), setup_.host);
  write_safetensors(folder / "model.safetensors", weights);
  TensorFile inputs;
  for (std::size_t i = 0; i < group.batches.size(); ++i) {
    const data::Batch& of = group.batches[i];
    const std::int64_t place = group.places[i];
    const std::map<std::string, Tensor> batch(of.begin(), of.end());
    for (const auto& [name, tensor] : to_host(batch, setup_.host)) {
      inputs.tensors[fmt::format("{}/{}", place, name)] = tensor;
    }
    for (const auto& [name, list] : of.lists) {
      for (std::size_t k = 0; k < list.size(); ++k)
        inputs.tensors[fmt::format("{}/{}/{}", place, name, k)] = list[k];
    }
  }
  inputs.metadata = {{"seed", fmt::format("{}", setup_.seed)}, {"step", fmt::format("{}", step)}};
  write_safetensors(folder / "batches.safetensors", inputs);
}

DryRun Trainer::dry_run() {
  const auto start = std::chrono::steady_clock::now();
  device_.allocator().reset_peak();
  task_.model().train(true);
  source_.start_epoch(0, 0);
  ahead_.reset();
  const Group group = next_group();
  FOVEA_CHECK(!group.empty(), ConfigError, "dataset: has no batches to train on");
  const StepScalars scalars = gradients(group);
  const StepResult result =
      checked(numbers_of(scalars.values)(), scalars.part_names, group, state_.step);
  // A rate of 0 makes the optimiser's state without moving the weights, except for momentum's
  // running means, which are thrown away with this trainer.
  update_->step(0);
  optimiser_->zero_grad();
  DryRun report;
  report.parameters = task_.model().parameter_count();
  report.steps_per_epoch = steps_per_epoch_;
  report.total_steps = total_steps_;
  report.rates = optim::summarise_rates(schedule_, length());
  report.rates_text = rates_text();
  report.loss = result.loss;
  report.grad_norm = result.grad_norm;
  report.step_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.peak_bytes = device_.allocator().stats().peak_bytes;
  report.weights = choice_text(selection_);
  report.notes = setup_.notes;
  report.files = {"config.json", "metrics.jsonl", "metrics.csv",
                  "log.txt",     "summary.json",  "checkpoints/last"};
  if (selection_.monitored()) report.files.emplace_back("checkpoints/best");
  for (const char* name : {"model", "optimiser", "ema"}) {
    if (name != std::string("ema") || ema_)
      report.files.push_back(fmt::format("checkpoints/step-*/{}.safetensors", name));
  }
  report.files.push_back("splits.json");
  for (const auto& [name, content] : task_.files()) {
    report.files.push_back(name);
    report.files.push_back("checkpoints/step-*/" + name);
  }
  return report;
}

}  // namespace fovea::training
