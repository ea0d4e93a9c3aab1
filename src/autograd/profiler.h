// Counts multiply-adds and time where they happen: inside operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/device.h"
#include "tensor/shape.h"

namespace fovea::autograd {

/// One executed operation.
struct Event {
  std::string op;      // "linear", "attention", ...
  std::string module;  // dotted path of the module it ran in
  bool backward = false;
  std::int64_t macs = 0;  // multiply-adds of matrix products and convolutions
  double seconds = 0;
  std::int64_t output_bytes = 0;
  Shape output;  // of forward operations
  Shape input;   // the first one, of forward operations
};

/// Times come from the device, so that work which is only queued when an operation returns counts
/// for that operation.
class Profiler {
 public:
  /// An operation that took no time of its own.
  void add(Event event) { events_.push_back(std::move(event)); }
  /// One that began at `begin` and ends here.
  void add(Event event, const Device& device, const Moment& begin);
  /// Waits for queued work.
  const std::vector<Event>& events() const;
  void clear();
  /// Multiply-adds of all forward operations.
  std::int64_t forward_macs() const;

 private:
  // An event whose time has not been read yet.
  struct Timing {
    std::size_t event;
    Device device;
    Moment begin, end;
  };
  mutable std::vector<Event> events_;
  mutable std::vector<Timing> unknown_;
};

/// The profiler's present moment on a device; nothing without a profiler.
Moment moment_on(const Device& device);

}  // namespace fovea::autograd
