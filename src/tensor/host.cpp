#include "tensor/host.h"

#include <type_traits>

namespace fovea {

std::vector<double> host_doubles(const Tensor& x) {
  return dispatch_any("host_doubles", x.dtype(), [&]<class T>(T) {
    const auto values = x.host_values<T>();
    std::vector<double> wide;
    wide.reserve(values.size());
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, BFloat16>) {
        wide.push_back(static_cast<double>(static_cast<float>(value)));
      } else {
        wide.push_back(static_cast<double>(value));
      }
    }
    return wide;
  });
}

Tensor from_doubles(const std::vector<double>& values, const Shape& shape, DType dtype,
                    const Device& device) {
  return dispatch_stored("from_doubles", dtype, [&]<class T>(T) {
    std::vector<T> rounded;
    rounded.reserve(values.size());
    for (const double value : values) {
      if constexpr (std::is_same_v<T, BFloat16>) {
        rounded.emplace_back(static_cast<float>(value));
      } else {
        rounded.push_back(static_cast<T>(value));
      }
    }
    return Tensor::from(rounded, shape, device);
  });
}

}  // namespace fovea
