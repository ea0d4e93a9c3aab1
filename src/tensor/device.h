// Where a tensor lives: the allocator of its memory and the kernels that work on it.
#pragma once

#include <memory>
#include <string>

#include "tensor/allocator.h"

namespace fovea {

class Backend;  // backend/backend.h

/// kMeta has shapes and accounting but no memory and no arithmetic: it counts parameters,
/// multiply-adds and peak memory of networks that are never run.
enum class DeviceType { kCpu, kMeta, kOpenCl, kCuda };

/// A point in a device's work: the time at which the host reaches it, or an event in the queue of a
/// device.
struct Moment {
  std::int64_t nanoseconds = 0;
  std::shared_ptr<void> event;
};

/// A cheap handle; copies name the same device. Made by backend/ (make_cpu(), make_meta(), ...),
/// never global: code that needs a device gets one as an argument, or from a tensor.
class Device {
 public:
  Device() = default;
  /// index: which of several devices of a type.
  Device(DeviceType type, MemorySource memory, std::shared_ptr<const Backend> backend,
         int index = 0);

  bool defined() const { return state_ != nullptr; }
  DeviceType type() const { return state_->type; }
  int index() const { return state_->index; }
  /// "cpu", "meta", "opencl", "cuda"; with an index from 1 on "cuda:1".
  std::string name() const;
  /// True if data() of its tensors may be read and written by the host.
  bool is_host() const { return type() == DeviceType::kCpu; }
  CachingAllocator& allocator() const { return state_->allocator; }
  const MemorySource& memory() const { return state_->allocator.source(); }
  const Backend& backend() const { return *state_->backend; }
  /// Waits until all queued work is done.
  void synchronize() const;
  /// True if tensors of both may be inputs of one operation: all devices in host memory count as
  /// equal, whatever their number of threads, and so do all meta devices. Results live on the
  /// device of the first input.
  bool operator==(const Device& other) const;
  /// True for copies of one handle, with one allocator and one set of threads.
  bool is(const Device& other) const { return state_ == other.state_; }

 private:
  struct State {
    DeviceType type;
    CachingAllocator allocator;
    std::shared_ptr<const Backend> backend;
    int index;
  };
  std::shared_ptr<State> state_;
};

}  // namespace fovea
