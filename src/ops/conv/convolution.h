// Convolutions and pooling over 1 to 3 spatial axes; one implementation for all of them.
// A parameter list of one number stands for all axes.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

using Sizes = std::vector<std::int64_t>;

struct ConvOptions {
  Sizes stride = {1};
  Sizes padding = {0};
  Sizes dilation = {1};
  std::int64_t groups = 1;
  Sizes output_padding = {0};  // transposed only
};

/// x: (b, c_in, spatial...), weight: (c_out, c_in / groups, kernel...), bias: (c_out) or undefined;
/// parameters are float32 where x is bfloat16.
/// Backward keeps x, unless the operation that made x can make it again.
Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
/// weight: (c_in, c_out / groups, kernel...), as in PyTorch.
Tensor conv_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias,
                      const ConvOptions& options);

/// Depthwise over tokens (b, n, c) that lie on a grid (h, w) or (d, h, w) row by row, channels
/// last: stride 1, zeros around the grid, the result like x. weight: (c, 1, kernel...) with odd
/// sizes, bias: (c) or undefined; float32 where x is bfloat16. residual: x + the convolution.
Tensor token_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const Sizes& grid,
                  bool residual = false);
inline Tensor token_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t h,
                         std::int64_t w, bool residual = false) {
  return token_conv(x, weight, bias, Sizes{h, w}, residual);
}

/// x: (b, c, spatial...); stride defaults to the kernel. Padding counts as -inf.
Tensor max_pool(const Tensor& x, const Sizes& kernel, const Sizes& stride = {},
                const Sizes& padding = {0});
Tensor avg_pool(const Tensor& x, const Sizes& kernel, const Sizes& stride = {},
                const Sizes& padding = {0}, bool count_include_pad = true);
Tensor adaptive_avg_pool(const Tensor& x, const Sizes& output);
Tensor adaptive_max_pool(const Tensor& x, const Sizes& output);

enum class Interpolation { kNearest, kLinear };
/// To the given spatial sizes; linear means bilinear for two axes and trilinear for three.
Tensor resize(const Tensor& x, const Sizes& output, Interpolation mode, bool align_corners = false);

}  // namespace fovea::ops
