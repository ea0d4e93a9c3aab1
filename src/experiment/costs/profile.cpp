#include "experiment/costs/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "experiment/costs/limits.h"
#include "experiment/costs/training_step.h"
#include "experiment/run/summary.h"

namespace fovea::experiment {
namespace {

std::string largest_of(const std::map<std::string, double>& seconds) {
  return std::max_element(seconds.begin(), seconds.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

bool has_limits(const std::vector<ProfileRow>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const ProfileRow& row) { return !row.limit.empty(); });
}

std::string row_name(const ProfileRow& row) { return row.op + (row.backward ? " (backward)" : ""); }

// `value` a unit of time, or nothing where there is none of it.
std::string per_second(std::int64_t value, double ms) {
  return value > 0 && ms > 0 ? fmt::format("{:.1f}", 1e-6 * static_cast<double>(value) / ms) : "";
}

std::string limits_line(const ProfileRow& row) {
  const std::string share = row.least_ms > 0 && row.ms_per_step > 0
                                ? fmt::format("{:.0f} %", 100 * row.least_ms / row.ms_per_step)
                                : "";
  return fmt::format(
      "{:<34} {:>7} {:>10.3f} {:>8} {:>7} {:>9} {:>7} {:>10.3f}\n", row_name(row),
      row.calls_per_step, row.ms_per_step, per_second(2 * row.macs_per_step, row.ms_per_step),
      per_second(row.bytes_per_step, row.ms_per_step), row.limit, share, row.lost_ms());
}

}  // namespace

std::vector<ProfileRow> profile(const std::function<void()>& step, const Peaks* peaks, int steps) {
  using Clock = std::chrono::steady_clock;
  autograd::Profiler profiler;
  const auto start = Clock::now();
  {
    const autograd::Profile watch(profiler);
    for (int i = 0; i < steps; ++i) step();
  }
  const std::vector<autograd::Event>& events = profiler.events();  // waits for the device
  const double total = std::chrono::duration<double>(Clock::now() - start).count();
  std::map<std::pair<std::string, bool>, ProfileRow> rows;
  std::map<std::pair<std::string, bool>, std::map<std::string, double>> limits;
  double known = 0;
  for (const autograd::Event& event : events) {
    ProfileRow& row = rows[{event.op, event.backward}];
    row.op = event.op;
    row.backward = event.backward;
    row.ms_per_step += 1e3 * event.seconds / steps;
    row.share += event.seconds / total;
    row.calls_per_step += 1;
    row.macs_per_step += event.macs;
    row.bytes_per_step += event.moved_bytes();
    row.numbers_per_step += event.written_bytes / size_of(event.dtype);
    known += event.seconds;
    if (peaks == nullptr) continue;
    const Limit limit = limit_of(event, *peaks);
    row.least_ms += 1e3 * limit.seconds / steps;
    limits[{event.op, event.backward}][limit.what] += limit.seconds;
  }
  std::vector<ProfileRow> sorted;
  for (auto& [key, row] : rows) {
    row.calls_per_step /= steps;
    row.macs_per_step /= steps;
    row.bytes_per_step /= steps;
    row.numbers_per_step /= steps;
    if (peaks != nullptr) row.limit = largest_of(limits[key]);
    sorted.push_back(row);
  }
  ProfileRow other{.op = "(other: bookkeeping)"};
  other.ms_per_step = 1e3 * (total - known) / steps;
  other.share = (total - known) / total;
  sorted.push_back(other);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.share > b.share; });
  return sorted;
}

schema::Value to_json(const std::vector<ProfileRow>& rows) {
  using schema::Value;
  Value list = Value::array();
  const bool limits = has_limits(rows);
  for (const ProfileRow& row : rows) {
    Value entry = Value::object({{"op", row.op},
                                 {"phase", row.backward ? "backward" : "forward"},
                                 {"share", row.share},
                                 {"ms_per_step", row.ms_per_step},
                                 {"calls_per_step", row.calls_per_step},
                                 {"macs_per_step", row.macs_per_step},
                                 {"bytes_per_step", row.bytes_per_step}});
    if (limits) {
      entry.set("limit", row.limit.empty() ? Value() : Value(row.limit));
      entry.set("least_ms", row.least_ms);
      entry.set("limit_share",
                row.ms_per_step > 0 ? Value(row.least_ms / row.ms_per_step) : Value());
      entry.set("lost_ms", row.lost_ms());
    }
    list.push_back(std::move(entry));
  }
  return list;
}

std::string to_text(const std::vector<ProfileRow>& rows) {
  std::string text = fmt::format("{:<34} {:>8} {:>9} {:>7} {:>9}\n", "operation", "share", "ms",
                                 "calls", "GFLOP/s");
  for (const ProfileRow& row : rows) {
    text += fmt::format("{:<34} {:>6.1f} % {:>9.3f} {:>7} {:>9}\n", row_name(row), 100 * row.share,
                        row.ms_per_step, row.calls_per_step,
                        per_second(2 * row.macs_per_step, row.ms_per_step));
  }
  return text;
}

ProfileRow total_of(const std::vector<ProfileRow>& rows) {
  ProfileRow total{.op = "whole step"};
  std::map<std::string, double> limits;
  for (const ProfileRow& row : rows) {
    total.ms_per_step += row.ms_per_step;
    total.share += row.share;
    total.calls_per_step += row.calls_per_step;
    total.macs_per_step += row.macs_per_step;
    total.bytes_per_step += row.bytes_per_step;
    total.numbers_per_step += row.numbers_per_step;
    total.least_ms += row.least_ms;
    limits[row.limit] += row.least_ms;
  }
  if (!limits.empty()) total.limit = largest_of(limits);
  return total;
}

std::string limits_text(const std::vector<ProfileRow>& rows) {
  std::vector<ProfileRow> sorted = rows;
  std::stable_sort(sorted.begin(), sorted.end(), [](const ProfileRow& a, const ProfileRow& b) {
    return a.lost_ms() > b.lost_ms();
  });
  sorted.push_back(total_of(rows));
  std::string text =
      fmt::format("{:<34} {:>7} {:>10} {:>8} {:>7} {:>9} {:>7} {:>10}\n", "operation", "calls",
                  "ms", "GFLOP/s", "GB/s", "limit", "share", "lost, ms");
  for (const ProfileRow& row : sorted) text += limits_line(row);
  return text;
}

StepProfile profile_step(const Experiment& e, const Device& device) {
  TrainingStep step(e, device);
  StepProfile result;
  for (int i = 0; i < 2; ++i) step();  // warms the allocator and the kernels' caches
  result.parameter_bytes = step.parameter_bytes();
  result.gradient_bytes = step.gradient_bytes();
  result.optimiser_bytes = step.optimiser_bytes();
  device.allocator().reset_peak();
  result.rows = profile([&] { step(); });
  result.saved_bytes = step.saved_bytes();
  result.peak_bytes = device.allocator().stats().peak_bytes;
  for (const ProfileRow& row : result.rows) result.ms_per_step += row.ms_per_step;
  return result;
}

schema::Value to_json(const StepProfile& p) {
  return schema::Value::object({{"ms_per_step", p.ms_per_step},
                                {"parameter_bytes", p.parameter_bytes},
                                {"gradient_bytes", p.gradient_bytes},
                                {"optimiser_bytes", p.optimiser_bytes},
                                {"saved_bytes", p.saved_bytes},
                                {"peak_bytes", p.peak_bytes},
                                {"profile", to_json(p.rows)}});
}

std::string to_text(const StepProfile& p) {
  return fmt::format(
      "{}\n{:.1f} ms per step\nmemory: parameters {}, gradients {}, optimiser {}, kept for "
      "backward "
      "{}; peak {}\n",
      to_text(p.rows), p.ms_per_step, bytes_text(p.parameter_bytes), bytes_text(p.gradient_bytes),
      bytes_text(p.optimiser_bytes), bytes_text(p.saved_bytes), bytes_text(p.peak_bytes));
}

}  // namespace fovea::experiment
