// Initial values of parameters. dgsa 2.8, kcla 2.0.
#pragma once

#include "nn/module.h"

namespace fovea::nn {

/// Weight of a linear layer with `fan_in` inputs to each output.
Tensor init_weight(const Build& build, const Shape& shape, std::int64_t fan_in);
/// Weight of a convolution, (c_out, c_in / groups, kernel...). Its fan_in is c_in / groups times
/// the kernel's elements, its fan_out c_out times them, as in PyTorch; divided by the groups only
/// for Init::kPvt.
Tensor init_conv_weight(const Build& build, const Shape& shape, std::int64_t groups = 1);
/// Bias of a linear layer or a convolution.
Tensor init_bias(const Build& build, std::int64_t size, std::int64_t fan_in);
/// Normal(0, stddev) truncated at +-2, as timm starts class tokens and position tables.
Tensor init_truncated_normal(const Build& build, const Shape& shape, double stddev = 0.02);
Tensor init_normal(const Build& build, const Shape& shape, double stddev);
Tensor init_constant(const Build& build, const Shape& shape, double value);

}  // namespace fovea::nn
