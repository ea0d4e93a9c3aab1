#include "training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backend/backend.h"
#include "base/error.h"
#include "base/file.h"
#include "training/monitor.h"
#include "training/parameters.h"
#include "training/timing.h"

namespace fovea::training {
namespace {

// Averages also follow the running statistics of normalisations.
std::vector<optim::Parameter> averaged(const nn::Module& model) {
  std::vector<optim::Parameter> list;
  for (const nn::NamedTensor& named : model.parameters())
    list.push_back({named.name, named.tensor});
  for (const nn::NamedTensor& named : model.buffers()) {
    if (is_floating(named.tensor.dtype())) list.push_back({named.name, named.tensor});
  }
  return list;
}

// A metric that nobody measures is the first thing to hear of.
Selection select_for(const Task& task, const TrainOptions& options) {
  const metrics::MetricInfo monitor = monitor_of(options, task.metrics(), task.monitor());
  return select(task.source().parts(), monitor, options);
}

}  // namespace

Trainer::Trainer(Task& task, TrainerSetup setup)
    : task_(task),
      source_(task.source()),
      setup_(std::move(setup)),
      ranks_(setup_.ranks != nullptr ? *setup_.ranks : alone_),
      selection_(select_for(task, setup_.train)),
      checkpoints_(setup_.run_folder),
      timing_(std::make_unique<Timing>()) {
  const TrainOptions& options = setup_.train;
  freeze(task_.model(), options.freeze);
  const std::vector<optim::Parameter> parameters = parameters_of(task_.model());
  FOVEA_CHECK(!parameters.empty(), ConfigError, "model: has no parameters to train");
  device_ = parameters.front().tensor.device();
  ranks_.set_limit(parallel::Seconds(options.rank_timeout));
  if (setup_.ranks != nullptr) task_.share_evaluations(*setup_.ranks);
  require_a_micro_batch_each();
  const std::int64_t group = options.grad_accum_steps;
  steps_per_epoch_ = (source_.batches_per_epoch() + group - 1) / group;
  total_steps_ = options.steps > 0 ? options.steps : options.epochs * steps_per_epoch_;
  FOVEA_CHECK(steps_per_epoch_ > 0 || total_steps_ == 0, ConfigError,
              "dataset: has no batches to train on");
  optimiser_ = optim::make_optimiser(setup_.optimizer, parameters);
  sum_ = std::make_unique<GradientSum>(
      optimiser_->parameters(), ranks_,
      GradientSum::Settings{options.gradient_order,
                            options.gradient_type == "bfloat16" ? parallel::Sent::kBFloat16
                                                                : parallel::Sent::kFloat32,
                            setup_.host});
  update_ = std::make_unique<SharedUpdate>(*optimiser_, ranks_, options.shard_optimizer);
  schedule_ = optim::make_schedule(setup_.schedule, length());
  if (std::string note = frozen_text(task_.model(), options.freeze); !note.empty())
    setup_.notes.push_back("note: " + std::move(note));
  if (std::string note = optim::scales_text(*optimiser_); !note.empty())
    setup_.notes.push_back("note: optimizer: " + std::move(note));
  if (std::string note = optim::check_rates(schedule_, length()); !note.empty())
    setup_.notes.push_back("note: " + std::move(note));
  if (options.ema_decay > 0) {
    ema_ = std::make_unique<optim::Ema>(averaged(task_.model()), options.decay_of_step());
  }
}

Trainer::~Trainer() = default;

optim::RunLength Trainer::length() const {
  return {optimiser_->base_lr(), total_steps_, steps_per_epoch_};
}

schema::Value Trainer::run() {
  if (ranks_.first()) claim_folder();
  device_.allocator().reset_peak();
  timing_->start();
  require_same_data();
  if (ranks_.first()) {
    open_run();
  } else {
    log_ = std::make_unique<RunLog>();
  }
  share_run();
  if (state_.step == 0) {
    for (const std::string& note : setup_.notes) say(note);
  }
  task_.model().train(true);
  if (total_steps_ == 0 && !finished()) keep_given_weights();
  while (!finished()) {
    train_epoch();
    if (!finished()) finish_epoch();
  }
  schema::Value chosen = chosen_weights();
  evaluate_chosen(chosen);
  log_->write_csv();
  schema::Value summary = write_summary(chosen);
  claim_.reset();
  return summary;
}

void Trainer::train_epoch() {
  source_.start_epoch(state_.epoch, state_.batch);
  ahead_.reset();
  while (state_.step < total_steps_) {
    Group group = next_group();
    if (group.empty()) break;
    queue_step(std::move(group));
    // At the end of an epoch its evaluation comes before the checkpoint.
    if (state_.batch >= source_.batches_per_epoch() || state_.step == total_steps_) break;
    bool improved = false;
    if (setup_.train.eval_every_steps > 0 && evaluation_is_due()) {
      settle();
      flush_window();
      evaluate_parts();
      improved = update_best();
      stop_early();
    }
    const std::int64_t every = setup_.train.checkpoint_every_steps;
    const bool due = every > 0 && state_.step % every == 0;
    if (!due && !improved && !finished() && !stop_requested()) continue;
    settle();
    save();
    if (finished()) return;
    if (stop_requested())
      throw Interrupted(fmt::format(
          "stopped after step {}; everything is saved, continue with --resume", state_.step));
  }
  settle();
}

// Whether a step was sound is asked when the next one has been queued, so that a device is never
// without work; that step's update comes after the answer. The update itself leaves the weights
// alone if a number is not finite.
void Trainer::queue_step(Group group) {
  const TrainOptions& train = setup_.train;
  const double lr = schedule_(state_.step);
  const double limit = train.clip_mode == ClipMode::kNorm ? train.clip_grad : 0;
  RecordedStep recorded(device_, train.cuda_graphs && ranks_.alone());
  StepScalars scalars = gradients(group);
  settle();
  update_->step(lr, optim::step_scale(scalars.values, limit));
  optimiser_->zero_grad();
  if (ema_) ema_->update();
  recorded.finish();
  ++state_.step;
  state_.batch = group.end;
  queued_ =
      QueuedStep{std::move(group), numbers_of(scalars.values), std::move(scalars.part_names), lr};
  if (device_.is_host()) settle();  // where nothing is queued
}

// Reads what the last step gave, and tells of it.
void Trainer::settle() {
  if (!queued_) return;
  const QueuedStep step = std::exchange(queued_, std::nullopt).value();
  const StepResult result = checked(step.numbers(), step.part_names, step.group, state_.step - 1);
  const std::int64_t samples = step.group.samples;
  state_.window.loss_sum += result.loss * static_cast<double>(samples);
  for (const auto& [name, part] : result.parts)
    state_.window.part_sums[name] += part * static_cast<double>(samples);
  state_.window.grad_norm_sum += result.grad_norm;
  state_.window.samples += samples;
  ++state_.window.steps;
  timing_->step(samples);
  if (state_.step % setup_.train.log_every == 0) flush_window();
  report_progress(result.loss, step.lr);
}

void Trainer::finish_epoch() {
  flush_window();
  const std::int64_t done = state_.epoch + 1;
  // An epoch may have had fewer steps than planned, if samples could not be read.
  const bool last =
      state_.step >= total_steps_ || (setup_.train.steps == 0 && done >= setup_.train.epochs);
  bool improved = false;
  if (last || evaluation_is_due()) {
    evaluate_parts();
    tell_evaluated(done);
    improved = update_best();
  }
  if (last) {
    state_.stop_reason = kCompleted;
  } else {
    stop_early();
  }
  const std::int64_t keep = setup_.train.keep_every;
  const bool kept = keep > 0 && done % keep == 0;
  if (kept) state_.kept.push_back(state_.step);
  ++state_.epoch;
  state_.batch = 0;
  log_->write_csv();
  const bool due = done % setup_.train.checkpoint_every == 0;
  if (due || kept || improved || finished() || stop_requested()) save();
  if (stop_requested() && !finished()) {
    throw Interrupted(fmt::format(
        "stopped after step {}; everything is saved, continue with --resume", state_.step));
  }
}

// After a step that an epoch does not end with, only by steps.
bool Trainer::evaluation_is_due() const {
  const std::int64_t steps = setup_.train.eval_every_steps;
  if (steps > 0) return state_.step % steps == 0;
  return (state_.epoch + 1) % setup_.train.eval_every == 0;
}

void Trainer::stop_early() {
  const std::int64_t patience = setup_.train.patience;
  if (patience == 0 || state_.evaluations_since_best < patience) return;
  state_.stop_reason = fmt::format("early stopping: {} {} has not improved for {} evaluations",
                                   data::name_of(*selection_.on), selection_.monitor.name,
                                   state_.evaluations_since_best);
  say(state_.stop_reason);
}

// A run of no steps scores the weights it was given, and keeps them.
void Trainer::keep_given_weights() {
  evaluate_parts();
  update_best();
  state_.stop_reason = kCompleted;
  save();
}

void Trainer::evaluate_parts() {
  for (const data::Split part : selection_.during)
    state_.metrics.set(std::string(data::name_of(part)),
                       record_evaluation(part, state_.step, state_.epoch, ""));
}

// Notes whether the monitored metric is the best so far; the earliest wins a tie. Without a part to
// select on nothing is best.
bool Trainer::update_best() {
  if (!selection_.monitored()) return false;
  const double sign = selection_.monitor.larger_is_better ? 1 : -1;
  bool improved = false;
  for (const std::string& name : selection_.candidates) {
    const schema::Value& metric = state_.metrics.at(data::name_of(*selection_.on)).at(name);
    const double value = metric.is_null() ? std::nan("") : metric.as_double();
    const bool first = !state_.best && !std::isnan(value);
    // Averaged weights of the same step, which come second, must only be better.
    const double least = improved ? 0 : setup_.train.min_delta;
    if (!first && !(state_.best && sign * (value - state_.best->value) > least)) continue;
    state_.best = Best{value, state_.step, state_.epoch, name, state_.metrics};
    improved = true;
  }
  state_.evaluations_since_best = improved ? 0 : state_.evaluations_since_best + 1;
  return improved;
}

}  // namespace fovea::training
