#include "training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "schema/compare.h"
#include "schema/parse.h"
#include "training/monitor.h"
#include "training/run_lock.h"
#include "training/timing.h"
#include "training/weights.h"

namespace fovea::training {
namespace {

std::vector<optim::Parameter> trainable(const nn::Module& model) {
  std::vector<optim::Parameter> list;
  for (const nn::NamedTensor& named : model.parameters())
    list.push_back({named.name, named.tensor});
  return list;
}

// Averages also follow the running statistics of normalisations.
std::vector<optim::Parameter> averaged(const nn::Module& model) {
  std::vector<optim::Parameter> list = trainable(model);
  for (const nn::NamedTensor& named : model.buffers()) {
    if (is_floating(named.tensor.dtype())) list.push_back({named.name, named.tensor});
  }
  return list;
}

Monitor resolve_monitor(const Task& task, const TrainOptions& options) {
  check_monitor(options, task.metric_names());
  Monitor monitor = task.monitor();
  if (!options.monitor.empty() && options.monitor != monitor.metric) {
    monitor.metric = options.monitor;
    monitor.larger_is_better = !options.monitor.ends_with("loss");
  }
  if (options.monitor_mode == MonitorMode::kMax) monitor.larger_is_better = true;
  if (options.monitor_mode == MonitorMode::kMin) monitor.larger_is_better = false;
  return monitor;
}

// What atomic writes of a killed process left; the lock says that nobody is writing now.
void remove_temporaries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : io::fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".tmp") found.push_back(entry.path());
  }
  for (const std::filesystem::path& path : found) io::remove_all(path);
}

}  // namespace

Trainer::Trainer(Task& task, TrainerSetup setup)
    : task_(task),
      setup_(std::move(setup)),
      monitor_(resolve_monitor(task, setup_.train)),
      checkpoints_(setup_.run_folder),
      timing_(std::make_unique<Timing>()) {
  const TrainOptions& options = setup_.train;
  const std::vector<optim::Parameter> parameters = trainable(task_.model());
  FOVEA_CHECK(!parameters.empty(), ConfigError, "model: has no parameters to train");
  device_ = parameters.front().tensor.device();
  const std::int64_t group = options.grad_accum_steps;
  steps_per_epoch_ = (task_.batches_per_epoch() + group - 1) / group;
  total_steps_ = options.steps > 0 ? options.steps : options.epochs * steps_per_epoch_;
  FOVEA_CHECK(steps_per_epoch_ > 0 || total_steps_ == 0, ConfigError,
              "dataset: has no batches to train on");
  optimiser_ = optim::make_optimiser(setup_.optimizer, parameters);
  schedule_ = optim::make_schedule(setup_.schedule,
                                   {optimiser_->base_lr(), total_steps_, steps_per_epoch_});
  if (options.ema_decay > 0) {
    ema_ = std::make_unique<optim::Ema>(averaged(task_.model()), options.ema_decay);
  }
}

Trainer::~Trainer() = default;

void Trainer::refuse_other(const std::string& place, const schema::Value& before) const {
  const auto identity = [&](const schema::Value& config) {
    return setup_.identity ? setup_.identity(config) : config;
  };
  std::string differences;
  for (const std::string& line : schema::diff(identity(before), identity(setup_.config))) {
    differences += (differences.empty() ? "" : "; ") + line;
  }
  FOVEA_CHECK(differences.empty(), ConfigError,
              fmt::format("{}: this run began with another configuration: {}", place, differences));
}

void Trainer::open_run() {
  const std::filesystem::path& folder = setup_.run_folder;
  const std::filesystem::path config_file = folder / "config.json";
  const bool has_run = io::fs::exists(config_file) || checkpoints_.has_last();
  FOVEA_CHECK(setup_.resume || !has_run, FileError,
              fmt::format("{}: holds a run already; continue it with --resume, or choose another "
                          "folder with --out",
                          folder.string()));
  state_.config = setup_.config;
  state_.config_hash =
      schema::content_hash(setup_.identity ? setup_.identity(setup_.config) : setup_.config);
  if (setup_.resume) {
    FOVEA_CHECK(has_run, FileError, fmt::format("{}: there is no run to resume", folder.string()));
    if (io::fs::exists(config_file)) {
      refuse_other(config_file.string(),
                   schema::parse(io::read_text(config_file), config_file.string()));
    }
    remove_temporaries(folder);
  }
  if (!setup_.resume || !io::fs::exists(config_file)) {
    for (const auto& [name, content] : task_.files()) io::write_atomic(folder / name, content);
    io::write_atomic(config_file, setup_.config.dump() + "\n");
  }
  log_ = std::make_unique<RunLog>(folder, setup_.train.tensorboard);
  if (checkpoints_.has_last()) {
    restore();
  } else {
    log_->cut_back(state_);  // killed before its first checkpoint: begin again
  }
}

void Trainer::restore() {
  const Checkpoint checkpoint = checkpoints_.load("last", setup_.host);
  // The hash is that of the program that saved; another one may have other keys. A checkpoint
  // without its configuration is known by the run's config.json alone.
  if (checkpoint.state.config.is_object())
    refuse_other((checkpoints_.folder() / "last").string(), checkpoint.state.config);
  task_.check_files(checkpoint.files, (checkpoints_.folder() / "last").string());
  const std::string name = (checkpoints_.folder() / "last" / "model.safetensors").string();
  load_weights(task_.model(), checkpoint.model, name);
  optimiser_->load_state(checkpoint.optimiser);
  FOVEA_CHECK((ema_ != nullptr) == !checkpoint.ema.empty(), FileError,
              fmt::format("{}: averaged weights are missing or not expected",
                          checkpoints_.folder().string()));
  if (ema_) ema_->load_state(checkpoint.ema);
  state_ = checkpoint.state;
  log_->cut_back(state_);
  checkpoints_.repair(state_);
}

schema::Value Trainer::run() {
  io::make_directories(setup_.run_folder);
  const RunLock lock(setup_.run_folder);
  device_.allocator().reset_peak();
  timing_->start();
  open_run();
  task_.model().train(true);
  if (total_steps_ == 0) state_.stop_reason = "completed";
  while (!finished()) {
    train_epoch();
    finish_epoch();
  }
  evaluate_selected();
  log_->write_csv();
  return write_summary();
}

Trainer::Group Trainer::next_group() {
  Group group;
  while (static_cast<std::int64_t>(group.size()) < setup_.train.grad_accum_steps) {
    std::unique_ptr<Batch> batch = task_.next_batch();
    if (batch == nullptr) break;
    group.push_back(std::move(batch));
  }
  return group;
}

void Trainer::train_epoch() {
  task_.start_epoch(state_.epoch, state_.batch);
  while (state_.step < total_steps_) {
    const Group group = next_group();
    if (group.empty()) return;
    const double lr = schedule_(state_.step);
    const StepResult result = gradients(group);
    optimiser_->step(lr);
    optimiser_->zero_grad();
    if (ema_) ema_->update();
    ++state_.step;
    state_.batch = group.back()->number + 1;
    after_step(group, result.loss, result.grad_norm, lr);
    // At the end of an epoch its evaluation comes before the checkpoint.
    if (state_.batch >= task_.batches_per_epoch() || state_.step == total_steps_) return;
    const std::int64_t every = setup_.train.checkpoint_every_steps;
    if (stop_requested() || (every > 0 && state_.step % every == 0)) save();
    if (stop_requested())
      throw Interrupted(fmt::format(
          "stopped after step {}; everything is saved, continue with --resume", state_.step));
  }
}

void Trainer::after_step(const Group& group, double loss, double grad_norm, double lr) {
  std::int64_t samples = 0;
  for (const auto& batch : group) samples += batch->samples;
  state_.window.loss_sum += loss * static_cast<double>(samples);
  state_.window.grad_norm_sum += grad_norm;
  state_.window.samples += samples;
  ++state_.window.steps;
  timing_->step(samples);
  if (state_.step % setup_.train.log_every == 0) flush_window();
  report_progress(loss, lr);
}

void Trainer::finish_epoch() {
  flush_window();
  const std::int64_t done = state_.epoch + 1;
  // An epoch may have had fewer steps than planned, if samples could not be read.
  const bool last =
      state_.step >= total_steps_ || (setup_.train.steps == 0 && done >= setup_.train.epochs);
  bool improved = false;
  if (last || done % setup_.train.eval_every == 0) {
    evaluate_epoch();
    improved = update_best();
  }
  const std::int64_t patience = setup_.train.patience;
  if (patience > 0 && state_.evaluations_since_best >= patience && !last) {
    state_.stop_reason =
        fmt::format("early stopping: {} {} has not improved for {} evaluations", monitor_.split,
                    monitor_.metric, state_.evaluations_since_best);
    say(state_.stop_reason);
  }
  if (last) state_.stop_reason = "completed";
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

void Trainer::evaluate_epoch() {
  for (const std::string& split : task_.splits()) record_evaluation(split, evaluate(split));
}

// Notes whether the monitored metric is the best so far; the earliest wins a tie.
bool Trainer::update_best() {
  const schema::Value* split = state_.metrics.find(monitor_.split);
  if (split == nullptr) return false;
  const double value =
      split->at(monitor_.metric).is_null() ? std::nan("") : split->at(monitor_.metric).as_double();
  const double sign = monitor_.larger_is_better ? 1 : -1;
  const bool first = !state_.best && !std::isnan(value);
  if (first || (state_.best && sign * (value - state_.best->value) > setup_.train.min_delta)) {
    state_.best = Best{value, state_.step, state_.epoch};
    state_.evaluations_since_best = 0;
    return true;
  }
  ++state_.evaluations_since_best;
  return false;
}

void Trainer::save() {
  log_->sync(state_);
  Checkpoint checkpoint;
  checkpoint.state = state_;
  checkpoint.state.time_s = elapsed();
  checkpoint.model = to_host(named_tensors(task_.model()), setup_.host);
  checkpoint.optimiser = to_host(optimiser_->state(), setup_.host);
  if (ema_) checkpoint.ema = to_host(ema_->state(), setup_.host);
  checkpoint.files = task_.files();
  checkpoints_.save(checkpoint);
}

}  // namespace fovea::training
