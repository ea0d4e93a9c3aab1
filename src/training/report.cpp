// Evaluation, log lines, progress and the summary of a run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "autograd/mode.h"
#include "base/file.h"
#include "training/timing.h"
#include "training/trainer.h"
#include "training/weights.h"

namespace fovea::training {

using schema::Value;

double Trainer::elapsed() const {
  return state_.time_s + Timing::between(timing_->begin, Timing::Clock::now());
}

void Trainer::say(const std::string& line) {
  log_->text(line);
  if (setup_.progress != nullptr) setup_.progress->message(line);
}

// One line of metrics.jsonl for the steps since the last one.
void Trainer::flush_window() {
  Window& window = state_.window;
  if (window.steps == 0) return;
  const auto now = Timing::Clock::now();
  const double samples = static_cast<double>(window.samples);
  Value line = Value::object({{"step", state_.step}, {"epoch", state_.epoch}, {"split", "train"}});
  set_number(line, "loss", window.loss_sum / samples);
  set_number(line, "lr", schedule_(state_.step - 1));
  set_number(line, "grad_norm", window.grad_norm_sum / static_cast<double>(window.steps));
  line.set("samples", window.samples);
  set_number(line, "samples_per_s", samples / Timing::between(timing_->window_start, now));
  line.set("time_s", elapsed());
  log_->record(line);
  timing_->window_start = now;
  window = {};
}

Metrics Trainer::evaluate(const std::string& split) {
  const autograd::NoGrad no_grad;
  task_.model().train(false);
  Metrics metrics = task_.evaluate(split);
  if (ema_) {
    const optim::Ema::Applied applied(*ema_);
    for (const auto& [name, value] : task_.evaluate(split))
      metrics.emplace_back("ema_" + name, value);
  }
  task_.model().train(true);
  timing_->last_step = timing_->window_start = Timing::Clock::now();
  return metrics;
}

void Trainer::record_evaluation(const std::string& split, const Metrics& metrics) {
  Value values = Value::object();
  // People count epochs from 1; the records of metrics.jsonl from 0.
  std::string text = fmt::format("epoch {}  step {}  {}", state_.epoch + 1, state_.step, split);
  Value line = Value::object({{"step", state_.step}, {"epoch", state_.epoch}, {"split", split}});
  for (const auto& [name, value] : metrics) {
    set_number(line, name, value);
    set_number(values, name, value);
    text += fmt::format("  {} {:.4g}", name, value);
  }
  line.set("time_s", elapsed());
  log_->record(line);
  state_.metrics.set(split, values);
  say(text);
}

void Trainer::report_progress(double loss, double lr) {
  if (setup_.progress == nullptr) return;
  Progress progress;
  progress.step = state_.step;
  progress.total_steps = total_steps_;
  progress.epoch = state_.epoch;
  progress.epochs = (total_steps_ + steps_per_epoch_ - 1) / steps_per_epoch_;
  progress.loss = loss;
  progress.lr = lr;
  const double step = timing_->median_step();
  progress.samples_per_s = step > 0 ? timing_->samples_per_step / step : 0;
  progress.remaining_s = step * static_cast<double>(total_steps_ - state_.step);
  const double total = Timing::between(timing_->begin, Timing::Clock::now());
  progress.wait_share = total > 0 ? task_.wait_seconds() / total : 0;
  progress.peak_bytes = device_.allocator().stats().peak_bytes;
  setup_.progress->update(progress);
}

// The final split is looked at once, with the weights chosen by the monitored split.
void Trainer::evaluate_selected() {
  const std::string split = task_.final_split();
  if (split.empty()) return;
  const bool validated = monitor_.split == "val";
  const bool best =
      setup_.train.select == Select::kBest || (setup_.train.select == Select::kAuto && validated);
  if (best && state_.best && state_.best->step != state_.step) {
    const Checkpoint chosen = checkpoints_.load("best", setup_.host);
    load_weights(task_.model(), chosen.model, "best/model.safetensors");
    if (ema_ && !chosen.ema.empty()) ema_->load_state(chosen.ema);
  }
  record_evaluation(split, evaluate(split));
}

Value Trainer::write_summary() {
  Value best;
  if (state_.best) {
    best = Value::object({{"split", monitor_.split},
                          {"metric", monitor_.metric},
                          {"value", state_.best->value},
                          {"step", state_.best->step},
                          {"epoch", state_.best->epoch}});
  }
  Value summary = Value::object({{"metrics", state_.metrics},
                                 {"best", best},
                                 {"parameters", task_.model().parameter_count()},
                                 {"steps", state_.step},
                                 {"epochs", state_.epoch},
                                 {"time_s", elapsed()},
                                 {"peak_bytes", device_.allocator().stats().peak_bytes},
                                 {"skipped_samples", task_.skipped_samples()},
                                 {"stop_reason", state_.stop_reason},
                                 {"config_hash", state_.config_hash},
                                 {"data", state_.data}});
  if (setup_.about.is_object()) {
    for (const Value::Member& member : setup_.about.members())
      summary.set(member.key, member.value);
  }
  io::write_atomic(setup_.run_folder / "summary.json", summary.dump() + "\n");
  return summary;
}

}  // namespace fovea::training
