// Counts multiply-adds and time where they happen: inside operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

class Profiler {
 public:
  void add(Event event) { events_.push_back(std::move(event)); }
  const std::vector<Event>& events() const { return events_; }
  void clear() { events_.clear(); }
  /// Multiply-adds of all forward operations.
  std::int64_t forward_macs() const;

 private:
  std::vector<Event> events_;
};

}  // namespace fovea::autograd
