#include "experiment/costs/throughput.h"

#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "backend/backend.h"
#include "backend/devices.h"
#include "experiment/costs/costs.h"
#include "experiment/costs/training_step.h"
#include "metrics/statistics.h"

namespace fovea::experiment {

Throughput measure_throughput(const Experiment& e, const ThroughputSettings& settings) {
  using Clock = std::chrono::steady_clock;
  const Device device = make_device(e.train.device, e.train.device_settings(settings.threads));
  Experiment sized = e;
  models::DataShape shape = data_shape(e);
  bring_to_cost_size(sized, shape);
  TrainingStep step(sized, device, shape, {.batch_size = settings.batch_size});
  std::vector<double> seconds;
  for (std::int64_t pass = -settings.warm_up; pass < settings.passes; ++pass) {
    const auto start = Clock::now();
    step.infer();
    device.synchronize();
    if (pass >= 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return {
      static_cast<double>(settings.batch_size) / metrics::median(seconds),
      fmt::format("{}, batch {}{}, {}", device.backend().description(), settings.batch_size,
                  e.cost_img_size.empty() ? "" : " of " + cost_size_text(e), e.train.precision)};
}

}  // namespace fovea::experiment
