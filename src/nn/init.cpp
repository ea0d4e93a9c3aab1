#include "nn/init.h"

#include <cmath>

#include "ops/create.h"

namespace fovea::nn {

Tensor init_weight(const Build& build, const Shape& shape, std::int64_t fan_in) {
  if (build.init == Init::kTruncNormal || build.init == Init::kPvt)
    return init_truncated_normal(build, shape);
  if (build.init == Init::kHead) return init_normal(build, shape, 0.01);
  const bool xavier = build.init == Init::kXavier;
  const double bound = xavier ? std::sqrt(6.0 / static_cast<double>(fan_in + shape[0]))
                              : 1.0 / std::sqrt(static_cast<double>(fan_in));
  return ops::random_uniform(shape, -bound, bound, build.random, build.dtype, build.device);
}

Tensor init_conv_weight(const Build& build, const Shape& shape, std::int64_t groups) {
  (void)shape.numel();  // throws where sizes are too large to be multiplied, as below
  const std::int64_t kernel = shape.part(2, shape.rank()).numel();
  const bool grouped = build.init == Init::kPvt;
  if (build.init == Init::kXavier) {
    const double both = static_cast<double>(shape[0] + shape[1]) * static_cast<double>(kernel);
    const double bound = std::sqrt(6.0 / both);
    return ops::random_uniform(shape, -bound, bound, build.random, build.dtype, build.device);
  }
  if (build.init == Init::kHe) {
    // nnU-Net's InitWeights_He(1e-2): PyTorch's kaiming_normal_ for a leaky ReLU of that slope.
    const double gain = 2.0 / (1 + 1e-2 * 1e-2);
    return init_normal(build, shape, std::sqrt(gain / static_cast<double>(shape[1] * kernel)));
  }
  if (build.init != Init::kKaiming && !grouped) return init_weight(build, shape, shape[1] * kernel);
  const std::int64_t fan_out = shape[0] * kernel / (grouped ? groups : 1);
  return init_normal(build, shape, std::sqrt(2.0 / static_cast<double>(fan_out)));
}

Tensor init_bias(const Build& build, std::int64_t size, std::int64_t fan_in) {
  if (build.init == Init::kTorch || build.init == Init::kKaiming)
    return init_weight(build, {size}, fan_in);
  return init_constant(build, {size}, 0);
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
