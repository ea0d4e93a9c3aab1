// Evaluation, log lines, progress and the summary of a run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "autograd/mode.h"
#include "base/file.h"
#include "training/monitor.h"
#include "training/store/weights.h"
#include "training/timing.h"
#include "training/trainer.h"

namespace fovea::training {

using schema::Value;

double Trainer::elapsed() const {
  return state_.time_s + Timing::between(timing_->begin, Timing::Clock::now());
}

void Trainer::say(const std::string& line) {
  require_claim();
  log_->text(line);
  if (setup_.progress != nullptr) setup_.progress->message(line);
}

// One line of metrics.jsonl for the steps since the last one.
void Trainer::flush_window() {
  Window& window = state_.window;
  if (window.steps == 0) return;
  const auto now = Timing::Clock::now();
  const double samples = static_cast<double>(window.samples);
  Value line = Value::object(
      {{"step", state_.step}, {"epoch", state_.epoch + state_.epochs_from}, {"split", "train"}});
  set_number(line, metrics::kLoss.name, window.loss_sum / samples);
  for (const auto& [name, sum] : window.part_sums) set_number(line, name, sum / samples);
  set_number(line, "lr", schedule_(state_.step - 1));
  set_number(line, "grad_norm", window.grad_norm_sum / static_cast<double>(window.steps));
  line.set("samples", window.samples);
  set_number(line, "samples_per_s", samples / Timing::between(timing_->window_start, now));
  line.set("time_s", elapsed());
  require_claim();
  log_->record(line);
  timing_->window_start = now;
  window = {};
}

Metrics Trainer::evaluate(data::Split split) {
  const autograd::NoGrad no_grad;
  task_.model().train(false);
  Metrics measured = task_.measure(split, std::nullopt);
  if (ema_) {
    const optim::Ema::Applied applied(*ema_);
    for (metrics::Measurement& metric : task_.measure(split, std::nullopt)) {
      metric.info = of_averages(std::move(metric.info));
      measured.push_back(std::move(metric));
    }
  }
  task_.model().train(true);
  timing_->last_step = timing_->window_start = Timing::Clock::now();
  return measured;
}

void Trainer::tell_evaluated(std::int64_t epoch) {
  if (!setup_.evaluated) return;
  task_.model().train(false);
  {
    std::optional<optim::Ema::Applied> applied;
    if (ema_) applied.emplace(*ema_);
    setup_.evaluated(epoch);
  }
  task_.model().train(true);
  timing_->last_step = timing_->window_start = Timing::Clock::now();
}

Value Trainer::record_evaluation(data::Split split, std::int64_t step, std::int64_t epoch,
                                 const std::string& weights) {
  Value values = Value::object();
  const std::string part(data::name_of(split));
  std::string text = fmt::format("epoch {}  step {}  {}", epoch + 1, step, part);
  Value line =
      Value::object({{"step", step}, {"epoch", epoch + state_.epochs_from}, {"split", part}});
  if (!weights.empty()) line.set("weights", weights);
  const Metrics measured = evaluate(split);
  for (const metrics::Measurement& metric : measured) {
    set_measured(line, metric);
    set_measured(values, metric);
    text += fmt::format("  {} {:.4g}{}", metric.info.name, metric.value,
                        metrics::coverage_text(metric.coverage));
  }
  line.set("time_s", elapsed());
  require_claim();
  log_->record(line);
  log_->text(text);
  if (setup_.progress != nullptr)
    setup_.progress->evaluated({"epoch " + count_of_total(epoch + 1, epochs()),
                                "step " + count_of_total(step, total_steps_), part,
                                shown_values(measured)});
  return values;
}

std::int64_t Trainer::epochs() const {
  return steps_per_epoch_ > 0 ? (total_steps_ + steps_per_epoch_ - 1) / steps_per_epoch_ : 0;
}

// For people: the metric that chooses weights first, then the others in their order.
std::vector<std::string> Trainer::shown_values(const Metrics& measured) const {
  std::vector<std::string> chosen, others;
  for (const metrics::Measurement& metric : measured) {
    const auto& candidates = selection_.candidates;
    const bool chooses =
        metric.info.name == selection_.monitor.name ||
        std::find(candidates.begin(), candidates.end(), metric.info.name) != candidates.end();
    const std::size_t width = metric.info.unit == "%" ? 8 : 7;
    (chooses ? chosen : others)
        .push_back(fmt::format("{} {:>{}}{}", metric.info.name,
                               metrics::value_text(metric.info, metric.value), width,
                               metrics::coverage_text(metric.coverage)));
  }
  chosen.insert(chosen.end(), others.begin(), others.end());
  return chosen;
}

void Trainer::report_progress(double loss, double lr) {
  if (setup_.progress == nullptr) return;
  Progress progress;
  progress.step = state_.step;
  progress.total_steps = total_steps_;
  progress.epoch = state_.epoch;
  progress.epochs = epochs();
  progress.loss = loss;
  progress.lr = lr;
  const double step = timing_->median_step();
  progress.samples_per_s = step > 0 ? timing_->samples_per_step / step : 0;
  progress.remaining_s = step * static_cast<double>(total_steps_ - state_.step);
  const double total = Timing::between(timing_->begin, Timing::Clock::now());
  progress.wait_share = total > 0 ? source_.wait_seconds() / total : 0;
  progress.peak_bytes = device_.allocator().stats().peak_bytes;
  setup_.progress->update(progress);
}

// Checkpoints of older programs do not say it.
std::string Trainer::best_metric() const {
  return state_.best->metric.empty() ? selection_.monitor.name : state_.best->metric;
}

// Members of the summary: which weights the numbers are of, and what chose them.
Value Trainer::chosen_weights() const {
  const bool best = selection_.best && state_.best;
  Value chosen = Value::object({{"metrics", best ? state_.best->metrics : state_.metrics},
                                {"weights", best ? "best" : "last"},
                                {"selected_on", Value()},
                                {"steps", state_.step},
                                {"epochs", state_.epoch},
                                {"epochs_from", 1}});
  if (best || selection_.stops) chosen.set("selected_on", data::name_of(*selection_.on));
  if (state_.best) {
    chosen.set("best", Value::object({{"split", data::name_of(*selection_.on)},
                                      {"metric", best_metric()},
                                      {"value", state_.best->value},
                                      {"step", state_.best->step},
                                      {"epoch", state_.best->epoch + 1}}));
  }
  // Who selects on test is asked for the numbers of the last epoch, too.
  if (best) chosen.set("last", Value::object({{"metrics", state_.metrics}}));
  return chosen;
}

// Evaluates with the chosen weights what they were not evaluated on yet: a part that takes no part
// in the choice is looked at once, here.
void Trainer::evaluate_chosen(Value& chosen) {
  const std::string weights = chosen.at("weights").as_string();
  const bool best = weights == "best";
  say("final numbers: " + weights_text(chosen));
  if (best && state_.best->step != state_.step) {
    if (ranks_.first()) {
      const io::fs::path folder = checkpoints_.folder_of("best");
      const Checkpoint checkpoint = read_checkpoint(folder, setup_.host);
      load_weights(task_.model(), checkpoint.model, (folder / "model.safetensors").string());
      if (ema_) ema_->load_state(checkpoint.ema);
    }
    share_weights();
  }
  const std::int64_t step = best ? state_.best->step : state_.step;
  // That of the last step; there is none where nothing was trained.
  const std::int64_t last_epoch = std::max<std::int64_t>(0, state_.epoch - 1);
  const std::int64_t epoch = best ? state_.best->epoch : last_epoch;
  std::vector<data::Split> parts = selection_.during;
  parts.push_back(selection_.reported);
  for (const data::Split part : parts) {
    const std::string name(data::name_of(part));
    Value& metrics = *chosen.find("metrics");
    if (metrics.find(name) == nullptr)
      metrics.set(name, record_evaluation(part, step, epoch, weights));
  }
}

Value Trainer::write_summary(const Value& chosen) {
  Value summary = chosen;
  summary.set("parameters", task_.model().parameter_count());
  summary.set("time_s", elapsed());
  summary.set("peak_bytes", device_.allocator().stats().peak_bytes);
  summary.set("skipped_samples", skipped_samples());
  summary.set("stop_reason", state_.stop_reason);
  summary.set("config_hash", state_.config_hash);
  summary.set("data", state_.data);
  if (setup_.about.is_object()) {
    for (const Value::Member& member : setup_.about.members())
      summary.set(member.key, member.value);
  }
  require_claim();
  log_->finished(state_.step);
  if (ranks_.first()) io::write_atomic(setup_.run_folder / "summary.json", summary.dump() + "\n");
  return summary;
}

}  // namespace fovea::training
