// Linear layer.
#pragma once

#include "nn/module.h"

namespace fovea::nn {

/// x W^T + b: (..., in) -> (..., out). Parameters: weight (out, in), bias (out).
class Linear final : public UnaryModule {
 public:
  Linear(const Build& build, std::int64_t in, std::int64_t out, bool bias = true);
  std::string type() const override { return "Linear"; }
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // undefined: none

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_;
  Tensor bias_;
};

}  // namespace fovea::nn
