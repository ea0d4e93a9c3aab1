#include "models/heads/head_start.h"

#include <cmath>

#include "nn/init.h"
#include "ops/in_place.h"

namespace fovea::models {

void start_normal(const nn::Module& layer, const nn::Build& build, double stddev) {
  for (const auto& [name, tensor] : layer.parameters()) {
    if (name == "weight") {
      ops::copy_into(nn::init_normal(build.at("weight"), tensor.shape(), stddev), tensor);
    } else {
      ops::fill(tensor, 0);
    }
  }
}

void start_kaiming(const nn::Module& convolution, const nn::Build& build) {
  for (const auto& [name, tensor] : convolution.parameters()) {
    if (name != "weight") continue;
    const Shape& shape = tensor.shape();  // fan_out follows from it as in PyTorch
    const std::int64_t fan_out = shape[0] * shape.part(2, shape.rank()).numel();
    start_normal(convolution, build, std::sqrt(2.0 / static_cast<double>(fan_out)));
  }
}

}  // namespace fovea::models
