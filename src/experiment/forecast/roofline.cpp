#include "experiment/forecast/roofline.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace fovea::experiment {
namespace {

double count_of(const Shape& shape) {
  double count = 1;
  for (const std::int64_t size : shape) count *= static_cast<double>(size);
  return count;
}

// Elements of the input are taken to be as wide as those of the output.
double moved_bytes(const autograd::Event& event) {
  const auto written = static_cast<double>(event.output_bytes);
  const double outputs = count_of(event.output);
  if (event.input.empty() || outputs == 0) return 2 * written;
  return written + written / outputs * count_of(event.input);
}

}  // namespace

RooflineTimes roofline(const std::vector<autograd::Event>& step, const Roof& roof) {
  const auto seconds = [&](std::int64_t macs, double bytes) {
    return std::max(
        {2 * static_cast<double>(macs) / roof.operations, bytes / roof.memory_bandwidth, kLaunch});
  };
  // Backward events do not say what they move: it follows from the same operation of the same
  // module forward.
  struct Moved {
    double bytes = 0, calls = 0;
  };
  std::map<std::pair<std::string, std::string>, Moved> forward;
  RooflineTimes times;
  for (const autograd::Event& event : step) {
    if (event.backward) continue;
    Moved& moved = forward[{event.op, event.module}];
    moved.bytes += moved_bytes(event);
    moved.calls += 1;
    times.forward_s += seconds(event.macs, moved_bytes(event));
  }
  for (const autograd::Event& event : step) {
    if (!event.backward) continue;
    const Moved& moved = forward[{event.op, event.module}];
    times.backward_s += seconds(event.macs, moved.calls > 0 ? 2 * moved.bytes / moved.calls : 0);
  }
  return times;
}

}  // namespace fovea::experiment
