#include "models/dense.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/counting.h"
#include "ops/elementwise.h"

namespace fovea::models {

DenseNetwork::DenseNetwork(const nn::Build& build, const ImageOptions& options,
                           const DataShape& data)
    : activations_(build.activation_dtype()), shape_(image_shape(options, data)) {}

void DenseNetwork::check_size(std::int64_t reduction) const {
  FOVEA_CHECK(shape_.height == 0 || (shape_.height >= reduction && shape_.width >= reduction),
              ConfigError,
              fmt::format("model: images of {} x {} are too small; this network needs at least "
                          "{} x {}",
                          shape_.height, shape_.width, reduction, reduction));
}

std::optional<std::int64_t> DenseNetwork::paper_macs(
    const std::vector<autograd::Event>& events) const {
  return module_hook_macs(events);
}

nn::Conv2d& DenseNetwork::add_head(const std::string& name, const nn::Build& build,
                                   std::int64_t in) {
  return child<nn::Conv2d>(name, build, in, shape_.classes, ops::Sizes{1});
}

Outputs DenseNetwork::forward(const Inputs& in, attention::Probe* probe) {
  return {.maps = maps(ops::cast(in.image, activations_), probe)};
}

}  // namespace fovea::models
