#include "experiment/costs/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "experiment/costs/training_step.h"
#include "experiment/run/summary.h"

namespace fovea::experiment {

std::vector<ProfileRow> profile(const std::function<void()>& step, int steps) {
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
  double known = 0;
  for (const autograd::Event& event : events) {
    ProfileRow& row = rows[{event.op, event.backward}];
    row.op = event.op;
    row.backward = event.backward;
    row.ms_per_step += 1e3 * event.seconds / steps;
    row.share += event.seconds / total;
    row.calls_per_step += 1;
    row.macs_per_step += event.macs;
    known += event.seconds;
  }
  std::vector<ProfileRow> sorted;
  for (auto& [key, row] : rows) {
    row.calls_per_step /= steps;
    row.macs_per_step /= steps;
    sorted.push_back(row);
  }
  sorted.push_back({"(other: optimiser, bookkeeping)", false, 1e3 * (total - known) / steps,
                    (total - known) / total, 0, 0});
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.share > b.share; });
  return sorted;
}

schema::Value to_json(const std::vector<ProfileRow>& rows) {
  using schema::Value;
  Value list = Value::array();
  for (const ProfileRow& row : rows) {
    list.push_back(Value::object({{"op", row.op},
                                  {"phase", row.backward ? "backward" : "forward"},
                                  {"share", row.share},
                                  {"ms_per_step", row.ms_per_step},
                                  {"calls_per_step", row.calls_per_step},
                                  {"macs_per_step", row.macs_per_step}}));
  }
  return list;
}

std::string to_text(const std::vector<ProfileRow>& rows) {
  std::string text = fmt::format("{:<34} {:>8} {:>9} {:>7} {:>9}\n", "operation", "share", "ms",
                                 "calls", "GFLOP/s");
  for (const ProfileRow& row : rows) {
    const double rate =
        row.ms_per_step > 0 ? 2e-6 * static_cast<double>(row.macs_per_step) / row.ms_per_step : 0;
    text +=
        fmt::format("{:<34} {:>6.1f} % {:>9.3f} {:>7} {:>9}\n",
                    row.op + (row.backward ? " (backward)" : ""), 100 * row.share, row.ms_per_step,
                    row.calls_per_step, row.macs_per_step > 0 ? fmt::format("{:.1f}", rate) : "");
  }
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
