#include "experiment/forecast/step_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "autograd/mode.h"
#include "backend/backend.h"
#include "backend/devices.h"
#include "base/error.h"
#include "experiment/costs/training_step.h"
#include "experiment/forecast/cards.h"
#include "experiment/forecast/roofline.h"
#include "experiment/run/summary.h"
#include "metrics/statistics.h"

namespace fovea::experiment {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void count_memory(const Experiment& e, StepCosts& costs) {
  const Device meta = make_meta();
  TrainingStep step(e, meta);
  step();  // makes the optimiser's state, which lies there in all later steps
  meta.allocator().reset_peak();
  step();
  costs.parameter_bytes = step.parameter_bytes();
  costs.gradient_bytes = step.gradient_bytes();
  costs.saved_bytes = step.saved_bytes();
  costs.peak_bytes =
      meta.allocator().stats().peak_bytes + (e.train.ema_decay > 0 ? step.parameter_bytes() : 0);
  costs.optimiser_bytes = step.optimiser_bytes();
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : step.batch()) bytes += tensor.bytes();
  costs.sample_bytes = bytes / costs.batch_size;
}

Device device_of(const Experiment& e) {
  try {
    return make_device(e.train.device, e.train.device_settings(static_cast<int>(e.train.threads)));
  } catch (const BackendError& error) {
    throw BackendError(fmt::format(
        "{}; or let a forecast calculate a card that is not here: card=h100", error.what()));
  }
}

// Medians. A busy machine disturbs few steps; a step of a large network takes minutes.
void measure(const Experiment& e, StepCosts& costs) {
  constexpr std::size_t kMostSteps = 20, kLeastSteps = 3;
  constexpr double kEnoughSeconds = 5;
  const Device device = device_of(e);
  TrainingStep step(e, device);
  for (int i = 0; i < 2; ++i) step();  // warms the allocator and the kernels' caches
  std::vector<double> forward, backward, update;
  const auto start = Clock::now();
  while (forward.size() < kLeastSteps ||
         (forward.size() < kMostSteps && seconds_since(start) < kEnoughSeconds)) {
    const StepTimes times = step.timed();
    forward.push_back(times.forward_s);
    backward.push_back(times.backward_s);
    update.push_back(times.update_s);
  }
  costs.forward_s = metrics::median(forward);
  costs.backward_s = metrics::median(backward);
  costs.update_s = metrics::median(update);
  costs.on_host = host_threads(device) > 0;
  costs.time_from = fmt::format("measured, median of {} steps: {}, {}", forward.size(),
                                device.backend().description(), e.train.precision);
}

// The rate at which gradients go to the host and back.
double measured_copy(const Device& device, std::int64_t gradient_bytes) {
  constexpr std::int64_t kMost = 256 << 20;
  const std::int64_t bytes = std::clamp<std::int64_t>(gradient_bytes, 1 << 16, kMost);
  const Tensor tensor = Tensor::empty({bytes / 4}, DType::kFloat32, device);
  std::vector<float> host(static_cast<std::size_t>(bytes / 4));
  std::vector<double> seconds;
  for (int i = 0; i < 9; ++i) {
    const auto start = Clock::now();
    tensor.upload(host.data());
    tensor.download(host.data());
    seconds.push_back(seconds_since(start));
  }
  return 2 * static_cast<double>(bytes) / metrics::median(seconds);
}

// The peaks of the named card at the experiment's precision, or those given by hand.
struct Peaks {
  std::string device = "a card", precision;
  double tflops = 0, memory_bandwidth = 0, memory = 0;
};

Peaks peaks_of(const Experiment& e, const ForecastSettings& settings) {
  Peaks peaks;
  const bool half = e.train.precision == "bfloat16";
  peaks.precision = half ? "bfloat16" : e.train.allow_tf32 ? "tf32" : "float32";
  for (const Card& card : cards()) {
    if (card.name != settings.card) continue;
    const double tflops = half ? card.bfloat16 : e.train.allow_tf32 ? card.tf32 : card.float32;
    peaks = {card.name, peaks.precision, tflops, card.memory_bandwidth, card.memory};
  }
  peaks.tflops = settings.tflops.value_or(peaks.tflops);
  peaks.memory_bandwidth = settings.memory_bandwidth.value_or(peaks.memory_bandwidth);
  peaks.memory = settings.memory.value_or(peaks.memory);
  return peaks;
}

void calculate(const Experiment& e, const ForecastSettings& settings, StepCosts& costs) {
  const Peaks peaks = peaks_of(e, settings);
  const Device meta = make_meta();
  TrainingStep step(e, meta);
  step();
  autograd::Profiler profiler;
  {
    const autograd::Profile watch(profiler);
    step();
  }
  const Roof roof{settings.share * 1e12 * peaks.tflops, settings.share * peaks.memory_bandwidth};
  const RooflineTimes times = roofline(profiler.events(), roof);
  costs.forward_s = times.forward_s;
  costs.backward_s = times.backward_s;
  costs.update_s = times.update_s;
  costs.memory = peaks.memory;
  costs.time_from = fmt::format(
      "calculated, not measured: {} with {:g} TFLOP/s ({}) and {:g} TB/s, of which kernels are "
      "assumed to reach {:g} %",
      peaks.device, peaks.tflops, peaks.precision, peaks.memory_bandwidth / 1e12,
      100 * settings.share);
}

}  // namespace

StepCosts step_costs(const Experiment& e, const ForecastSettings& settings) {
  // Gradients of a card that is not here cross PCI Express 4 x 16, 32 GB/s by its standard.
  constexpr double kAssumedCopy = 25e9;
  StepCosts costs;
  costs.batch_size = e.train.batch_size;
  costs.micro_batches = e.train.grad_accum_steps;
  count_memory(e, costs);
  costs.sent_bytes =
      static_cast<double>(costs.gradient_bytes) * (e.train.gradient_type == "bfloat16" ? 0.5 : 1);
  costs.own_first = e.train.gradient_order == training::GradientOrder::kRanks;
  costs.shared_update = e.train.shard_optimizer;
  if (settings.is_calculated()) {
    calculate(e, settings, costs);
  } else {
    measure(e, costs);
    costs.memory = settings.memory.value_or(0);
  }
  for (double* seconds : {&costs.forward_s, &costs.backward_s, &costs.update_s})
    *seconds /= settings.speed;
  if (settings.speed != 1) costs.time_from += fmt::format("; {:g} times as fast", settings.speed);
  if (settings.host_copy) {
    costs.host_copy = *settings.host_copy;
    costs.copy_from = "as given";
  } else if (settings.is_calculated()) {
    costs.host_copy = kAssumedCopy;
    costs.copy_from = "assumed, as PCI Express 4 x 16 gives";
  } else {
    costs.host_copy =
        measured_copy(make_device(e.train.device, {.threads = 1}), costs.gradient_bytes);
    costs.copy_from = "measured";
  }
  return costs;
}

}  // namespace fovea::experiment
