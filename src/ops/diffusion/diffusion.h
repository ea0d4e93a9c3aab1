// Gaussian diffusion on tensors (b, c, ...): noise, the loss of a network that predicts it, and the
// steps back. A network's output holds the noise (the first c channels) and, where the variance is
// learned, logits of it (another c). t (b) int64 is the step of a chain that each item is at. Made
// of operations, on any device, and nothing is waited for. mala 4.7; as facebookresearch/DiT.
#pragma once

#include "ops/diffusion/chain.h"
#include "tensor/tensor.h"

namespace fovea::ops {

/// The variance of a step back.
enum class StepVariance {
  kLearnedRange,  // between the posterior's and beta, in logarithms, where the network says
  kFixedLarge,    // beta
  kFixedSmall,    // the posterior's
};

/// x_t: sqrt(a_t) x_start + sqrt(1 - a_t) noise, with gradients. x_start and noise of one shape.
/// Throws ShapeError for another number of steps than items, and for steps outside the chain.
Tensor noised(const DiffusionChain& chain, const Tensor& x_start, const Tensor& t,
              const Tensor& noise);

/// Of each item, (b): means over its elements.
struct DiffusionLoss {
  Tensor loss;     // mse + vb
  Tensor mse;      // of the noise
  Tensor vb = {};  // bits a dimension; undefined where no variance is learned
};
/// vb is the divergence from the true step back of the network's, whose mean gets no gradient; at
/// step 0 the likelihood of x_start in bins of 1 / 127.5 under that normal distribution. x_start is
/// in [-1, 1]. Throws ShapeError for channels that do not fit.
DiffusionLoss diffusion_loss(const DiffusionChain& chain, StepVariance variance,
                             const Tensor& output, const Tensor& x_start, const Tensor& x_t,
                             const Tensor& t, const Tensor& noise);

/// What a network's output says of the step back from x_t.
struct StepBack {
  Tensor mean, log_variance;  // of x_{t-1}; the latter may be stretched to the shape of the former
  Tensor x_start;             // predicted
};
struct StepBackOptions {
  StepVariance variance = StepVariance::kLearnedRange;
  bool clip_denoised = false;  // the predicted x_start is cut to [-1, 1]
};
StepBack step_back(const DiffusionChain& chain, const StepBackOptions& options,
                   const Tensor& output, const Tensor& x_t, const Tensor& t);

/// x_{t-1}, drawn (DDPM); at step 0 the mean. noise: normal, like x_t.
Tensor ddpm_sample(const StepBack& back, const Tensor& t, const Tensor& noise);
/// x_{t-1} by DDIM (Song et al., ICLR 2021, Eq. 12), which draws nothing where eta is 0; noise may
/// be undefined then.
Tensor ddim_sample(const DiffusionChain& chain, const StepBack& back, const Tensor& x_t,
                   const Tensor& t, double eta, const Tensor& noise);

/// Classifier-free guidance (Ho and Salimans, 2022): of the first `channels` without + scale (with
/// - without), of the others `with`. with, without: outputs for the same x_t, with a class and
/// without one.
Tensor guided(const Tensor& with, const Tensor& without, double scale, std::int64_t channels);

}  // namespace fovea::ops
