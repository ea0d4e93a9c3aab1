#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "backend/backend.h"
#include "bench/memory.h"
#include "bench/work.h"
#include "experiment/summary.h"
#include "training/weights.h"

namespace fovea::bench {
namespace {

std::vector<ProfileRow> profile_of(const std::function<Tensor()>& step) {
  constexpr int kSteps = 3;
  autograd::Profiler profiler;
  const auto start = Clock::now();
  {
    const autograd::Profile profile(profiler);
    for (int i = 0; i < kSteps; ++i) step();
  }
  const double total = std::chrono::duration<double>(Clock::now() - start).count();
  std::map<std::pair<std::string, bool>, ProfileRow> rows;
  double known = 0;
  for (const autograd::Event& event : profiler.events()) {
    ProfileRow& row = rows[{event.op, event.backward}];
    row.op = event.op;
    row.backward = event.backward;
    row.ms_per_step += 1e3 * event.seconds / kSteps;
    row.share += event.seconds / total;
    row.calls_per_step += 1;
    row.macs_per_step += event.macs;
    known += event.seconds;
  }
  std::vector<ProfileRow> sorted;
  for (auto& [key, row] : rows) {
    row.calls_per_step /= kSteps;
    row.macs_per_step /= kSteps;
    sorted.push_back(row);
  }
  sorted.push_back({"(other: optimiser, bookkeeping)", false, 1e3 * (total - known) / kSteps,
                    (total - known) / total, 0, 0});
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.share > b.share; });
  return sorted;
}

}  // namespace

double Result::quantile(double q) const {
  const double at = q * static_cast<double>(ms.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at));
  const std::size_t high = std::min(low + 1, ms.size() - 1);
  return ms[low] + (at - static_cast<double>(low)) * (ms[high] - ms[low]);
}

Result run(const experiment::Experiment& e, const Device& device, const Settings& settings) {
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  Result result;
  result.start_rss_bytes = resident_bytes();
  const Work work = make_work(e, device, settings);
  // What only loading needed does not count.
  device.allocator().trim();
  reset_peak_resident();
  result.start_up_s = seconds_since(settings.started);

  MemoryStats before;
  for (std::int64_t i = -settings.warm_up; i < settings.steps; ++i) {
    if (i == 0) {
      device.allocator().reset_peak();
      before = device.allocator().stats();
    }
    const auto start = Clock::now();
    const Tensor output = work.step();
    const double ms = 1e3 * seconds_since(start);
    if (i >= 0) result.ms.push_back(ms);
    if (i == -settings.warm_up) {
      const autograd::NoGrad no_grad;
      result.loss = training::scalar_of(work.loss(output));
    }
  }
  const MemoryStats after = device.allocator().stats();
  std::sort(result.ms.begin(), result.ms.end());
  result.batch_size = work.batch_size;
  result.peak_bytes = after.peak_bytes;
  result.peak_rss_bytes = peak_resident_bytes();
  result.allocations_per_step = static_cast<double>(after.allocations - before.allocations) /
                                static_cast<double>(settings.steps);
  result.backend = device.backend().description();
  if (settings.profile) result.profile = profile_of(work.step);
  return result;
}

schema::Value to_json(const experiment::Experiment& e, const Settings& settings, const Result& r) {
  using schema::Value;
  Value profile = Value::array();
  for (const ProfileRow& row : r.profile) {
    profile.push_back(Value::object({{"op", row.op},
                                     {"phase", row.backward ? "backward" : "forward"},
                                     {"share", row.share},
                                     {"ms_per_step", row.ms_per_step},
                                     {"calls_per_step", row.calls_per_step},
                                     {"macs_per_step", row.macs_per_step}}));
  }
  const double median = r.quantile(0.5);
  return Value::object(
      {{"name", e.name},
       {"mode", settings.infer ? "infer" : "train"},
       {"attention_only", settings.part == Part::kAttention},
       {"ffn_only", settings.part == Part::kFfn},
       {"batch_size", r.batch_size},
       {"steps", settings.steps},
       {"ms_per_step",
        Value::object({{"median", median}, {"p10", r.quantile(0.1)}, {"p90", r.quantile(0.9)}})},
       {"samples_per_s", 1e3 * static_cast<double>(r.batch_size) / median},
       {"loss", r.loss},
       {"peak_bytes", r.peak_bytes},
       {"peak_rss_bytes", r.peak_rss_bytes},
       {"start_rss_bytes", r.start_rss_bytes},
       {"start_up_s", r.start_up_s},
       {"allocations_per_step", r.allocations_per_step},
       {"backend", r.backend},
       {"compiler", __VERSION__},
       {"profile", profile}});
}

std::string to_text(const experiment::Experiment& e, const Settings& settings, const Result& r) {
  const double median = r.quantile(0.5);
  std::string text = fmt::format(
      "{}: {} at batch {}, {}\n{:.2f} ms per step (p10 {:.2f}, p90 {:.2f}), {:.1f} samples/s, peak "
      "{}, {} new "
      "allocations per step\n\n{:<34} {:>8} {:>9} {:>7} {:>9}\n",
      e.name, settings.infer ? "inference" : "training step", r.batch_size, r.backend, median,
      r.quantile(0.1), r.quantile(0.9), 1e3 * static_cast<double>(r.batch_size) / median,
      experiment::bytes_text(r.peak_bytes), r.allocations_per_step, "operation", "share", "ms",
      "calls", "GFLOP/s");
  for (const ProfileRow& row : r.profile) {
    const double rate =
        row.ms_per_step > 0 ? 2e-6 * static_cast<double>(row.macs_per_step) / row.ms_per_step : 0;
    text +=
        fmt::format("{:<34} {:>6.1f} % {:>9.3f} {:>7} {:>9}\n",
                    row.op + (row.backward ? " (backward)" : ""), 100 * row.share, row.ms_per_step,
                    row.calls_per_step, row.macs_per_step > 0 ? fmt::format("{:.1f}", rate) : "");
  }
  return text;
}

}  // namespace fovea::bench
