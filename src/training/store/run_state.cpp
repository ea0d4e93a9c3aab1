#include "training/store/run_state.h"

#include <cmath>

namespace fovea::training {

using schema::Value;

Value to_value(const RunState& state) {
  Value best;
  if (state.best) {
    best = Value::object(
        {{"step", state.best->step}, {"epoch", state.best->epoch + state.epochs_from}});
    best.set("value", state.best->value);
    best.set("metric", state.best->metric);
    best.set("metrics", state.best->metrics);
  }
  const Window& window = state.window;
  Value part_sums = Value::object();
  for (const auto& [name, sum] : window.part_sums) part_sums.set(name, sum);
  Value parts = Value::array();
  for (const data::Split part : state.parts) parts.push_back(data::name_of(part));
  return Value::object({{"step", state.step},
                        {"epoch", state.epoch},
                        {"epochs_from", state.epochs_from},
                        {"batch", state.batch},
                        {"best", best},
                        {"evaluations_since_best", state.evaluations_since_best},
                        {"window", Value::object({{"loss_sum", window.loss_sum},
                                                  {"grad_norm_sum", window.grad_norm_sum},
                                                  {"samples", window.samples},
                                                  {"steps", window.steps},
                                                  {"part_sums", part_sums}})},
                        {"metrics_bytes", state.metrics_bytes},
                        {"metrics_hash", state.metrics_hash},
                        {"text_bytes", state.text_bytes},
                        {"event_bytes", state.event_bytes},
                        {"event_file", state.event_file},
                        {"kept", Value::array(state.kept)},
                        {"config_hash", state.config_hash},
                        {"data", state.data},
                        {"config", state.config},
                        {"stop_reason", state.stop_reason},
                        {"time_s", state.time_s},
                        {"metrics", state.metrics},
                        {"parts", parts}});
}

RunState run_state_from(const Value& value) {
  RunState state;
  state.step = value.at("step").as_int();
  state.epoch = value.at("epoch").as_int();
  state.batch = value.at("batch").as_int();
  // Older programs counted from 0 and did not say so.
  const Value* from = value.find("epochs_from");
  state.epochs_from = from != nullptr ? from->as_int() : 0;
  if (const Value& best = value.at("best"); !best.is_null()) {
    state.best.emplace();
    state.best->value = best.at("value").as_double();
    state.best->step = best.at("step").as_int();
    state.best->epoch = best.at("epoch").as_int() - state.epochs_from;
    // Checkpoints of older programs have none of these, nor the parts below.
    if (const Value* metric = best.find("metric")) state.best->metric = metric->as_string();
    if (const Value* metrics = best.find("metrics")) state.best->metrics = *metrics;
  }
  state.evaluations_since_best = value.at("evaluations_since_best").as_int();
  const Value& window = value.at("window");
  state.window = {window.at("loss_sum").as_double(), window.at("grad_norm_sum").as_double(),
                  window.at("samples").as_int(), window.at("steps").as_int()};
  if (const Value* sums = window.find("part_sums")) {
    for (const Value::Member& sum : sums->members())
      state.window.part_sums[sum.key] = sum.value.as_double();
  }
  state.metrics_bytes = value.at("metrics_bytes").as_int();
  state.text_bytes = value.at("text_bytes").as_int();
  state.event_bytes = value.at("event_bytes").as_int();
  for (const Value& step : value.at("kept").items()) state.kept.push_back(step.as_int());
  state.config_hash = value.at("config_hash").as_string();
  // Checkpoints of older versions have none of these, nor say what they were made with.
  if (const Value* hash = value.find("metrics_hash")) state.metrics_hash = hash->as_string();
  if (const Value* file = value.find("event_file")) state.event_file = file->as_string();
  if (const Value* data = value.find("data")) state.data = *data;
  if (const Value* config = value.find("config")) state.config = *config;
  state.stop_reason = value.at("stop_reason").as_string();
  state.time_s = value.at("time_s").as_double();
  state.metrics = value.at("metrics");
  if (const Value* parts = value.find("parts")) {
    for (const Value& part : parts->items())
      state.parts.push_back(data::split_from_name(part.as_string()));
  }
  return state;
}

void set_number(Value& record, const std::string& key, double value) {
  if (std::isfinite(value)) {
    record.set(key, value);
    return;
  }
  record.set(key, Value());
  if (record.find("nonfinite") == nullptr) record.set("nonfinite", Value::array());
  record.find("nonfinite")->push_back(key);
}

namespace {

constexpr const char* kCompared = "compared";

}  // namespace

void set_measured(Value& record, const metrics::Measurement& metric) {
  set_number(record, metric.info.name, metric.value);
  const metrics::Coverage& coverage = metric.coverage;
  if (coverage.complete()) return;
  if (record.find(kCompared) == nullptr) record.set(kCompared, Value::object());
  record.find(kCompared)->set(metric.info.name, Value::object({{"defined", coverage.defined},
                                                               {"of", coverage.compared},
                                                               {"set", coverage.set}}));
}

metrics::Coverage coverage_in(const Value& record, const std::string& metric) {
  const Value* compared = record.find(kCompared);
  const Value* own = compared != nullptr ? compared->find(metric) : nullptr;
  if (own == nullptr) return {};
  return {own->at("defined").as_int(), own->at("of").as_int(), own->at("set").as_string()};
}

bool is_note(const std::string& key) { return key == "nonfinite" || key == kCompared; }

Value with_current_names(const Value& metrics_by_part,
                         const std::vector<metrics::MetricInfo>& known) {
  Value renamed = Value::object();
  for (const Value::Member& part : metrics_by_part.members()) {
    Value& record = renamed.set(part.key, Value::object());
    for (const Value::Member& metric : part.value.members()) {
      const std::string name =
          is_note(metric.key) ? metric.key : metrics::current_name(known, metric.key);
      record.set(name, metric.value);
    }
  }
  return renamed;
}

}  // namespace fovea::training
