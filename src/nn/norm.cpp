#include "nn/norm.h"

#include "nn/init.h"
#include "ops/norm.h"

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

std::unique_ptr<UnaryModule> make_norm(NormKind kind, const Build& build, std::int64_t dim,
                                       double eps) {
  if (kind == NormKind::kRMSNorm) return std::make_unique<RMSNorm>(build, dim, eps);
  return std::make_unique<LayerNorm>(build, dim, eps);
}

}  // namespace fovea::nn
