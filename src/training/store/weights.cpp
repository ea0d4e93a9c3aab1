#include "training/store/weights.h"

#include <fmt/format.h>

#include "backend/backend.h"
#include "base/error.h"
#include "ops/elementwise.h"

namespace fovea::training {

std::map<std::string, Tensor> to_host(const std::map<std::string, Tensor>& tensors,
                                      const Device& host) {
  std::map<std::string, Tensor> copies;
  for (const auto& [name, tensor] : tensors) {
    copies[name] = tensor.device().is_host() ? tensor.detach() : tensor.copy_on(host);
  }
  return copies;
}

double scalar_of(const Tensor& x) {
  FOVEA_CHECK(x.numel() == 1, ShapeError,
              fmt::format("expected a scalar, got {}", to_string(x.shape())));
  return dispatch_float("scalar", x.dtype(),
                        [&]<class T>(T) { return static_cast<double>(x.item<T>()); });
}

}  // namespace fovea::training
