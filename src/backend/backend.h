// What computes on a device: the kernels of kernels.def. Everything above this layer computes
// through them and knows neither the device nor the library behind a kernel. Work may be queued: it
// is done when the host reads a result, or after Device::synchronize().
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backend/args.h"
#include "backend/fused_args.h"
#include "tensor/tensor.h"

namespace fovea {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// The widest floating type it computes in: float64, unless a graphics processor has none.
  virtual DType widest() const { return DType::kFloat64; }
  /// Library, instruction set and thread count, for logs and benchmarks.
  virtual std::string description() const { return name(); }

  /// Waits until all queued work is done; does nothing where kernels return when they are done.
  virtual void synchronize() const {}
  /// Around the kernels of a training step, which are much the same in every step: a device may
  /// record and submit them as a whole. Without `complete` the step is abandoned.
  virtual void begin_step() const {}
  virtual void end_step(bool /*complete*/) const {}
  /// The present moment in the order of the work.
  virtual Moment moment() const;
  /// Seconds between two moments; waits for the later one.
  virtual double seconds_between(const Moment& begin, const Moment& end) const;

  /// True where attention() of two maps writes AttentionResults::map_results, if wanted, and its
  /// backward pass is faster by them.
  virtual bool keeps_map_results(const AttentionArgs& /*args*/) const { return false; }

#define FOVEA_PRIMITIVE(kernel, parameters, arguments) virtual void kernel parameters const = 0;
#define FOVEA_FUSED(kernel, parameters, arguments) virtual void kernel parameters const;
#include "backend/kernels.def"
};

inline const Backend& backend(const Tensor& tensor) { return tensor.device().backend(); }

/// A step of a device from here to finish(), if `wanted`; abandoned where finish() is not called.
class RecordedStep {
 public:
  RecordedStep(Device device, bool wanted) : device_(std::move(device)), open_(wanted) {
    if (open_) device_.backend().begin_step();
  }
  ~RecordedStep() {
    if (open_) device_.backend().end_step(false);
  }
  RecordedStep(const RecordedStep&) = delete;
  RecordedStep& operator=(const RecordedStep&) = delete;

  void finish() {
    if (std::exchange(open_, false)) device_.backend().end_step(true);
  }

 private:
  Device device_;
  bool open_;
};

/// The result of all_finite for tensors of one device, read back at once. True without tensors and
/// on the meta device.
bool are_finite(const std::vector<Tensor>& xs);

}  // namespace fovea
