#include "backend/backend.h"

#include <chrono>

namespace fovea {

Moment Backend::moment() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), nullptr};
}

double Backend::seconds_between(const Moment& begin, const Moment& end) const {
  return 1e-9 * static_cast<double>(end.nanoseconds - begin.nanoseconds);
}

// (Defined here, since only this layer knows what a backend is.)
void Device::synchronize() const { backend().synchronize(); }

bool are_finite(const std::vector<Tensor>& xs) {
  if (xs.empty() || xs.front().device().type() == DeviceType::kMeta) return true;
  const Tensor finite = Tensor::empty({}, DType::kUint8, xs.front().device());
  backend(finite).all_finite(xs, finite);
  return finite.item<std::uint8_t>() != 0;
}

}  // namespace fovea
