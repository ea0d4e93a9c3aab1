// What computes on a device: the kernels of kernels.def. Everything above this layer computes
// through them and knows neither the device nor the library behind a kernel. Work may be queued: it
// is done when the host reads a result, or after Device::synchronize().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/args.h"
#include "backend/fused_args.h"
#include "tensor/tensor.h"

namespace fovea {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Library, instruction set and thread count, for logs and benchmarks.
  virtual std::string description() const { return name(); }

  /// Waits until all work that was asked for is done. Nothing where kernels return when they are.
  virtual void synchronize() const {}
  /// Here, in the order of the work.
  virtual Moment moment() const;
  /// Seconds between two moments; waits for the later one.
  virtual double seconds_between(const Moment& begin, const Moment& end) const;

#define FOVEA_PRIMITIVE(kernel, parameters, arguments) virtual void kernel parameters const = 0;
#define FOVEA_FUSED(kernel, parameters, arguments) virtual void kernel parameters const;
#include "backend/kernels.def"
};

inline const Backend& backend(const Tensor& tensor) { return tensor.device().backend(); }

/// What all_finite finds in tensors of one device, read back in one go. True of no tensors and on
/// the meta device.
bool are_finite(const std::vector<Tensor>& xs);

}  // namespace fovea
