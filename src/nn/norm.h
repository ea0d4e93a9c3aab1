// Normalisation layers over the last axis.
#pragma once

#include <memory>

#include "nn/module.h"

namespace fovea::nn {

/// (x - mean) / sqrt(var + eps) * weight + bias.
class LayerNorm final : public UnaryModule {
 public:
  LayerNorm(const Build& build, std::int64_t dim, double eps);
  std::string type() const override { return "LayerNorm"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_;
  Tensor bias_;
  double eps_;
};

/// x / sqrt(mean(x^2) + eps) * weight; without `affine` there is no weight.
class RMSNorm final : public UnaryModule {
 public:
  RMSNorm(const Build& build, std::int64_t dim, double eps, bool affine = true);
  std::string type() const override { return "RMSNorm"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_;
  double eps_;
};

enum class NormKind { kLayerNorm, kRMSNorm };
std::unique_ptr<UnaryModule> make_norm(NormKind kind, const Build& build, std::int64_t dim,
                                       double eps);

}  // namespace fovea::nn
