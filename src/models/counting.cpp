#include "models/counting.h"

namespace fovea::models {
namespace {

std::int64_t count(const autograd::Event& event) {
  if (event.op == "conv" || event.op == "linear") return event.macs;
  if (event.op == "batch_norm") return 4 * event.output.numel();
  // Its convolution and its norm; the running sum is not counted.
  if (event.op == "running_value") return (9 + 4) * event.output.numel();
  if (event.op == "avg_pool") return event.output.numel();
  if (event.op == "adaptive_avg_pool" || event.op == "pooled_again")
    return event.input.numel() + event.output.numel();
  if (event.op == "resize") return 11 * event.output.numel();
  if (event.op == "conv_transpose") {
    const std::int64_t outputs = event.output.numel() / event.output[1];  // places
    const std::int64_t inputs = event.input.numel() / event.input[1];
    return event.macs / inputs * outputs;
  }
  return 0;
}

}  // namespace

std::int64_t module_hook_macs(const std::vector<autograd::Event>& events) {
  std::int64_t total = 0;
  for (const autograd::Event& event : events) {
    if (!event.backward) total += count(event);
  }
  return total;
}

}  // namespace fovea::models
