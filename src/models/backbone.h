// What a network for dense prediction needs of its encoder, whatever that is made of.
#pragma once

#include <vector>

#include "attention/probe.h"
#include "nn/module.h"

namespace fovea::models {

/// A pyramid of feature maps.
class Backbone : public nn::Module {
 public:
  /// x (b, c, h, w) -> one map (b, channels()[k], ...) for each level, the finest first.
  std::vector<Tensor> operator()(const Tensor& x, attention::Probe* probe = nullptr) {
    const auto scope = enter();
    return forward(x, probe);
  }
  /// Channels of every level.
  const std::vector<std::int64_t>& channels() const { return channels_; }

 protected:
  virtual std::vector<Tensor> forward(const Tensor& x, attention::Probe* probe) = 0;

  std::vector<std::int64_t> channels_;
};

}  // namespace fovea::models
