// Dropout and stochastic depth; identities in evaluation mode. Every call in a pass draws a mask of
// its own.
#pragma once

#include "nn/module.h"

namespace fovea::nn {

/// Inverted dropout with probability p. dgsa 6.3.
class Dropout final : public UnaryModule {
 public:
  Dropout(const Build& build, double p);
  std::string type() const override { return "Dropout"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  double p_;
};

/// Drops whole channels of an item, x (b, c, spatial...), with probability p and divides the others
/// by 1 - p: PyTorch's Dropout2d.
class ChannelDropout final : public UnaryModule {
 public:
  ChannelDropout(const Build& build, double p);
  std::string type() const override { return "Dropout2d"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  double p_;
};

/// Drops whole items of the batch with probability p.
class DropPath final : public UnaryModule {
 public:
  DropPath(const Build& build, double p);
  std::string type() const override { return "DropPath"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  double p_;
};

}  // namespace fovea::nn
