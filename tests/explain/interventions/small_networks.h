// Small networks with heads, and images for them.
#pragma once

#include <memory>

#include "backend/devices.h"
#include "tensor/host.h"
#include "tensor/random.h"
#include "tests/models/network.h"

namespace fovea::test {

inline std::unique_ptr<models::Model> small_vit(const char* attention, Options more = {}) {
  Options options = {{"img_size", schema::Value::array({8, 8})},
                     {"patch_size", 4},
                     {"embed_dim", 8},
                     {"depth", 2},
                     {"num_classes", 3},
                     {"attention", schema::Value::object({{"type", attention}, {"num_heads", 2}})}};
  options.insert(options.end(), more.begin(), more.end());
  return build(options_of("vit", options), make_cpu(1), {});
}

inline Tensor normal_images(const Shape& shape, std::uint64_t seed, double scale = 2) {
  const RandomStream stream = RandomStream(seed).fork("images");
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i)
    values.push_back(scale * stream.normal(static_cast<std::uint64_t>(i)));
  return from_doubles(values, shape, DType::kFloat32, make_cpu(1));
}

inline std::vector<double> logits_of_images(models::Model& model, const Tensor& x) {
  const autograd::NoGrad no_grad;
  return host_doubles(model({.image = x}).logits);
}

}  // namespace fovea::test
