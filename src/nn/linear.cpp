#include "nn/linear.h"

#include "autograd/hooks.h"
#include "nn/hooked_parts.h"
#include "nn/init.h"
#include "ops/linear.h"

namespace fovea::nn {

Linear::Linear(const Build& build, std::int64_t in, std::int64_t out, bool bias)
    : weight_(parameter("weight", init_weight(build.at("weight"), {out, in}, in))) {
  if (bias) bias_ = parameter("bias", init_bias(build.at("bias"), out, in));
}

Tensor Linear::forward(const Tensor& x) {
  return ops::linear(autograd::hooked(x, kLinearInput), weight_, bias_);
}

}  // namespace fovea::nn
