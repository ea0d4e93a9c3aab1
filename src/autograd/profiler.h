// Counts multiply-adds, bytes and time where they happen: inside operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace fovea::autograd {

/// One executed operation.
struct Event {
  std::string op;           // "linear", "attention", ...
  std::string module = {};  // dotted path of the module it ran in
  bool backward = false;
  bool update = false;    // of weights, by the optimiser: neither forward nor backward
  std::int64_t macs = 0;  // multiply-adds of matrix products and convolutions
  double seconds = 0;
  /// What has to be moved at least: every input is read once and every result written once. Of
  /// backward: gradients of results and what the forward pass kept are read, gradients of inputs
  /// are written.
  std::int64_t read_bytes = 0, written_bytes = 0;
  DType dtype = DType::kFloat32;  // of the first result, or its gradient
  Shape output = {};              // of forward operations
  Shape input = {};               // the first one, of forward operations

  std::int64_t moved_bytes() const { return read_bytes + written_bytes; }
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
