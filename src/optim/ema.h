// An exponential moving average of the weights, evaluated beside them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "optim/optimiser.h"

namespace fovea::optim {

/// average = decay average + (1 - decay) weight after every step, beginning with the weights
/// themselves. Give it the floating-point buffers too (running statistics), as timm does.
class Ema {
 public:
  /// Averages begin as copies of the weights. decay in [0, 1).
  Ema(std::vector<Parameter> weights, double decay);

  void update();

  /// The averages by the names of the weights. They share memory with this object.
  std::map<std::string, Tensor> state() const;
  /// Throws FileError naming the first tensor that is missing, unexpected or of another shape.
  void load_state(const std::map<std::string, Tensor>& state);

  /// While this object lives, the weights hold the averages; afterwards their own values again.
  class Applied {
   public:
    explicit Applied(const Ema& ema);
    ~Applied();
    Applied(const Applied&) = delete;
    Applied& operator=(const Applied&) = delete;

   private:
    const Ema& ema_;
    std::vector<Tensor> saved_;
  };

 private:
  std::vector<Parameter> weights_;
  std::vector<Tensor> averages_;
  double decay_;
};

}  // namespace fovea::optim
