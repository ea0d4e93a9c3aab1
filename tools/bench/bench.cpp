#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/mode.h"
#include "backend/backend.h"
#include "backend/peaks.h"
#include "bench/cpu_time.h"
#include "bench/memory.h"
#include "bench/work.h"
#include "experiment/costs/roofline_picture.h"
#include "experiment/run/summary.h"
#include "training/store/weights.h"

namespace fovea::bench {

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
  double cpu_s = 0, rate = 0;
  for (std::int64_t i = -settings.warm_up; i < settings.steps; ++i) {
    if (i == 0) {
      device.allocator().reset_peak();
      before = device.allocator().stats();
    }
    const double cpu_before = cpu_seconds();
    const auto start = Clock::now();
    const Tensor output = work.step();
    device.synchronize();
    const double ms = 1e3 * seconds_since(start);
    if (i >= 0) {
      result.ms.push_back(ms);
      cpu_s += cpu_seconds() - cpu_before;
      if (settings.peaks) rate += present_float32_rate(device);
    }
    if (i == -settings.warm_up) {
      const autograd::NoGrad no_grad;
      result.loss = training::scalar_of(work.loss(output));
    }
  }
  result.cpu_ms_per_step = 1e3 * cpu_s / static_cast<double>(settings.steps);
  const MemoryStats after = device.allocator().stats();
  std::sort(result.ms.begin(), result.ms.end());
  result.batch_size = work.batch_size;
  result.peak_bytes = after.peak_bytes;
  result.peak_rss_bytes = peak_resident_bytes();
  result.allocations_per_step = static_cast<double>(after.allocations - before.allocations) /
                                static_cast<double>(settings.steps);
  result.backend = device.backend().description();
  if (settings.peaks) {
    result.present_share =
        rate / static_cast<double>(settings.steps) / settings.peaks->peaks.float32.registers;
  }
  if (settings.profile) {
    result.profile =
        experiment::profile(work.step, settings.peaks ? &settings.peaks->peaks : nullptr);
  }
  return result;
}

schema::Value to_json(const experiment::Experiment& e, const Settings& settings, const Result& r) {
  using schema::Value;
  const double median = r.quantile(0.5);
  Value json = Value::object(
      {{"name", e.name},
       {"mode", settings.infer ? "infer" : "train"},
       {"attention_only", settings.part == Part::kAttention},
       {"ffn_only", settings.part == Part::kFfn},
       {"batch_size", r.batch_size},
       {"steps", settings.steps},
       {"ms_per_step",
        Value::object({{"median", median}, {"p10", r.quantile(0.1)}, {"p90", r.quantile(0.9)}})},
       {"cpu_ms_per_step", r.cpu_ms_per_step},
       {"samples_per_s", 1e3 * static_cast<double>(r.batch_size) / median},
       {"loss", r.loss},
       {"peak_bytes", r.peak_bytes},
       {"peak_rss_bytes", r.peak_rss_bytes},
       {"start_rss_bytes", r.start_rss_bytes},
       {"start_up_s", r.start_up_s},
       {"allocations_per_step", r.allocations_per_step},
       {"backend", r.backend},
       {"compiler", __VERSION__},
       {"profile", experiment::to_json(r.profile)}});
  if (settings.peaks) {
    const experiment::ProfileRow total = experiment::total_of(r.profile);
    json.set("peaks", experiment::to_json(*settings.peaks));
    json.set("present_share", r.present_share);
    json.set("least_ms", total.least_ms);
    json.set("limit_share", total.least_ms / total.ms_per_step);
  }
  return json;
}

std::string to_text(const experiment::Experiment& e, const Settings& settings, const Result& r) {
  const double median = r.quantile(0.5);
  std::string text = fmt::format(
      "{}: {} at batch {}, {}\n{:.2f} ms per step (p10 {:.2f}, p90 {:.2f}), {:.1f} samples/s, peak "
      "{}, {} new "
      "allocations per step\n",
      e.name, settings.infer ? "inference" : "training step", r.batch_size, r.backend, median,
      r.quantile(0.1), r.quantile(0.9), 1e3 * static_cast<double>(r.batch_size) / median,
      experiment::bytes_text(r.peak_bytes), r.allocations_per_step);
  if (settings.peaks) {
    text += fmt::format(
        "\n{}\nbetween the steps, products in the cache reached {:.0f} % of the peak in "
        "registers\n\n{}",
        experiment::to_text(*settings.peaks), 100 * r.present_share,
        experiment::limits_text(r.profile));
  } else if (!r.profile.empty()) {
    text += "\n" + experiment::to_text(r.profile);
  }
  return text;
}

void draw(const std::filesystem::path& path, const experiment::Experiment& e,
          const Settings& settings, const Result& r) {
  const experiment::ProfileRow total = experiment::total_of(r.profile);
  const std::string title = fmt::format("{}: {} at batch {}, {:.0f} % of the limit", e.name,
                                        settings.infer ? "inference" : "training step",
                                        r.batch_size, 100 * total.least_ms / total.ms_per_step);
  experiment::write_roofline(path, title, settings.peaks->peaks, r.profile);
}

}  // namespace fovea::bench
