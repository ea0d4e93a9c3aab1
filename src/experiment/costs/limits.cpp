#include "experiment/costs/limits.h"

#include <algorithm>

namespace fovea::experiment {

double transfer_seconds(std::int64_t read, std::int64_t written, const MemoryPeak& level) {
  const std::int64_t copied = std::min(read, written);
  const auto seconds = [](std::int64_t bytes, double rate) {
    return bytes == 0 ? 0 : static_cast<double>(bytes) / rate;
  };
  return seconds(2 * copied, std::max(level.copy, level.stream_copy)) +
         seconds(read - copied, level.read) +
         seconds(written - copied, std::max(level.write, level.stream_write));
}

const MemoryPeak& level_of(std::int64_t bytes, const Peaks& peaks) {
  const auto fits = std::find_if(peaks.levels.begin(), peaks.levels.end() - 1,
                                 [&](const MemoryPeak& level) { return bytes <= level.bytes; });
  return *fits;
}

Limit limit_of(const autograd::Event& event, const Peaks& peaks) {
  if (event.moved_bytes() == 0) return {};
  const MemoryPeak& level = level_of(event.moved_bytes(), peaks);
  const double moving = transfer_seconds(event.read_bytes, event.written_bytes, level);
  const double computing = 2 * static_cast<double>(event.macs) / peaks.of(event.dtype).best();
  return computing > moving ? Limit{computing, "products"} : Limit{moving, level.name};
}

}  // namespace fovea::experiment
