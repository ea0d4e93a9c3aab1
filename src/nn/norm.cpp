#include "nn/norm.h"

#include <fmt/format.h>

#include "base/error.h"
#include "nn/init.h"
#include "ops/create.h"

namespace fovea::nn {

LayerNorm::LayerNorm(const Build& build, std::int64_t dim, double eps)
    : weight_(parameter("weight", init_constant(build, {dim}, 1))),
      bias_(parameter("bias", init_constant(build, {dim}, 0))),
      eps_(eps) {}

Tensor LayerNorm::forward(const Tensor& x) { return ops::layer_norm(x, weight_, bias_, eps_); }

RMSNorm::RMSNorm(const Build& build, std::int64_t dim, double eps, bool affine) : eps_(eps) {
  if (affine) weight_ = parameter("weight", init_constant(build, {dim}, 1));
}

Tensor RMSNorm::forward(const Tensor& x) { return ops::rms_norm(x, weight_, eps_); }

BatchNorm2d::BatchNorm2d(const Build& build, std::int64_t channels, const BatchNormOptions& options)
    : options_(options),
      weight_(parameter("weight", init_constant(build, {channels}, options.initial_weight))),
      bias_(parameter("bias", init_constant(build, {channels}, 0))),
      running_mean_(buffer("running_mean", init_constant(build, {channels}, 0))),
      running_var_(buffer("running_var", init_constant(build, {channels}, 1))),
      num_batches_tracked_(
          buffer("num_batches_tracked", ops::zeros(Shape{}, DType::kInt64, build.device))) {}

Tensor BatchNorm2d::with_relu(const Tensor& x, const Tensor& residual) {
  const auto scope = enter();
  return apply(x, residual, true);
}

Tensor BatchNorm2d::apply(const Tensor& x, const Tensor& residual, bool relu) {
  FOVEA_CHECK(x.rank() == 4, ShapeError,
              fmt::format("BatchNorm2d: x is {}; expected (b, c, h, w)", to_string(x.shape())));
  return ops::batch_norm(next_batch(), x, residual, relu);
}

ops::BatchNorm BatchNorm2d::next_batch() {
  return {.weight = weight_,
          .bias = bias_,
          .running_mean = running_mean_,
          .running_var = running_var_,
          .training = training(),
          .momentum = options_.momentum,
          .eps = options_.eps,
          .batches = num_batches_tracked_};
}

GroupNorm::GroupNorm(const Build& build, std::int64_t groups, std::int64_t channels, double eps)
    : groups_(groups),
      weight_(parameter("weight", init_constant(build, {channels}, 1))),
      bias_(parameter("bias", init_constant(build, {channels}, 0))),
      eps_(eps) {}

Tensor GroupNorm::forward(const Tensor& x) {
  return ops::group_norm(x, groups_, weight_, bias_, eps_);
}

std::unique_ptr<UnaryModule> make_norm(NormKind kind, const Build& build, std::int64_t dim,
                                       double eps) {
  if (kind == NormKind::kRMSNorm) return std::make_unique<RMSNorm>(build, dim, eps);
  return std::make_unique<LayerNorm>(build, dim, eps);
}

}  // namespace fovea::nn
