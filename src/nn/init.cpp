#include "nn/init.h"

#include <cmath>

#include "ops/create.h"

namespace fovea::nn {

Tensor init_weight(const Build& build, const Shape& shape, std::int64_t fan_in) {
  if (build.init == Init::kTruncNormal) return init_truncated_normal(build, shape);
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  return ops::random_uniform(shape, -bound, bound, build.random, build.dtype, build.device);
}

Tensor init_conv_weight(const Build& build, const Shape& shape) {
  const std::int64_t kernel = shape.part(2, shape.rank()).numel();
  if (build.init != Init::kKaiming) return init_weight(build, shape, shape[1] * kernel);
  return init_normal(build, shape, std::sqrt(2.0 / static_cast<double>(shape[0] * kernel)));
}

Tensor init_bias(const Build& build, std::int64_t size, std::int64_t fan_in) {
  if (build.init == Init::kTruncNormal) return init_constant(build, {size}, 0);
  return init_weight(build, {size}, fan_in);
}

Tensor init_truncated_normal(const Build& build, const Shape& shape, double stddev) {
  return ops::truncated_normal(shape, 0, stddev, -2, 2, build.random, build.dtype, build.device);
}

Tensor init_normal(const Build& build, const Shape& shape, double stddev) {
  return ops::random_normal(shape, 0, stddev, build.random, build.dtype, build.device);
}

Tensor init_constant(const Build& build, const Shape& shape, double value) {
  return ops::full(shape, value, build.dtype, build.device);
}

}  // namespace fovea::nn
