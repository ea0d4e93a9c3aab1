#include "autograd/profiler.h"

#include "autograd/mode.h"
#include "backend/backend.h"

namespace fovea::autograd {

void Profiler::add(Event event, const Device& device, const Moment& begin) {
  unknown_.push_back({events_.size(), device, begin, device.backend().moment()});
  events_.push_back(std::move(event));
}

const std::vector<Event>& Profiler::events() const {
  for (const Timing& timing : unknown_) {
    events_[timing.event].seconds =
        timing.device.backend().seconds_between(timing.begin, timing.end);
  }
  unknown_.clear();
  return events_;
}

void Profiler::clear() {
  events_.clear();
  unknown_.clear();
}

std::int64_t Profiler::forward_macs() const {
  std::int64_t total = 0;
  for (const Event& event : events_) {
    if (!event.backward) total += event.macs;
  }
  return total;
}

Moment moment_on(const Device& device) {
  return mode().profiler != nullptr ? device.backend().moment() : Moment{};
}

}  // namespace fovea::autograd
