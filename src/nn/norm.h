// Normalisation layers.
#pragma once

#include <memory>

#include "nn/module.h"
#include "ops/norm.h"

namespace fovea::nn {

/// Over the last axis: (x - mean) / sqrt(var + eps) * weight + bias.
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

/// Over the last axis: x / sqrt(mean(x^2) + eps) * weight; without `affine` there is no weight.
class RMSNorm final : public UnaryModule {
 public:
  RMSNorm(const Build& build, std::int64_t dim, double eps, bool affine = true);
  std::string type() const override { return "RMSNorm"; }

  /// For an operation that contains the norm.
  const Tensor& weight() const { return weight_; }
  double eps() const { return eps_; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_;
  double eps_;
};

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;        // share of the batch in the running statistics
  double initial_weight = 1.0;  // with 0 a residual branch starts at zero
};

/// Over all axes but c: (x - mean) / sqrt(var + eps) * weight + bias, x (b, c, h, w). In training
/// mode mean and (biased) variance are the batch's, and the running statistics move towards them,
/// the variance with n - 1; in evaluation mode they are the running ones. PyTorch's BatchNorm2d.
/// Parameters: weight, bias (c). Buffers: running_mean, running_var (c), num_batches_tracked (),
/// int64, the number of training batches so far.
/// Throws ShapeError in training mode if a channel has one value only.
class BatchNorm2d final : public UnaryModule {
 public:
  BatchNorm2d(const Build& build, std::int64_t channels, const BatchNormOptions& options = {});
  std::string type() const override { return "BatchNorm2d"; }

  /// ReLU(norm(x) + residual) in one pass over memory; residual is like x, or undefined.
  Tensor with_relu(const Tensor& x, const Tensor& residual = {});
  /// The norm for an operation that contains it, which is called once a batch.
  ops::BatchNorm next_batch();

 protected:
  Tensor forward(const Tensor& x) override { return apply(x, {}, false); }

 private:
  Tensor apply(const Tensor& x, const Tensor& residual, bool relu);

  BatchNormOptions options_;
  Tensor weight_;
  Tensor bias_;
  Tensor running_mean_;
  Tensor running_var_;
  Tensor num_batches_tracked_;
};

/// Over the channels of a group and all places of an item, x (b, c, spatial...): PyTorch's
/// GroupNorm. Parameters: weight, bias (c). Throws ShapeError where groups does not divide c.
class GroupNorm final : public UnaryModule {
 public:
  GroupNorm(const Build& build, std::int64_t groups, std::int64_t channels, double eps = 1e-5);
  std::string type() const override { return "GroupNorm"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  std::int64_t groups_;
  Tensor weight_;
  Tensor bias_;
  double eps_;
};

enum class NormKind { kLayerNorm, kRMSNorm };
std::unique_ptr<UnaryModule> make_norm(NormKind kind, const Build& build, std::int64_t dim,
                                       double eps);

}  // namespace fovea::nn
