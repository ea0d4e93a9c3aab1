#include "autograd/profiler.h"

namespace fovea::autograd {

std::int64_t Profiler::forward_macs() const {
  std::int64_t total = 0;
  for (const Event& event : events_) {
    if (!event.backward) total += event.macs;
  }
  return total;
}

}  // namespace fovea::autograd
