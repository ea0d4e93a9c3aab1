// The update of a step by several ranks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "optim/optimiser.h"
#include "parallel/ranks.h"
#include "tensor/device.h"

namespace fovea::training {

/// Every rank updates all parameters and keeps all of the optimiser's state; or, shared out, each
/// keeps the state of its own parameters alone, updates these, and gives their values to all (the
/// first stage of ZeRO, Rajbhandari et al., SC 2020). The bits are the same: an update of a
/// parameter reads no other one.
class SharedUpdate {
 public:
  /// Both outlive it.
  SharedUpdate(optim::Optimiser& optimiser, parallel::Ranks& ranks, bool shared_out);

  bool shared_out() const { return !owners_.empty(); }
  /// Optimiser::step(), by all ranks together. Gradients may be gone afterwards.
  void step(double lr, const Tensor& scale = {});
  /// The state of all parameters on the host, as one process has it; shared out, all ranks ask
  /// together, and the first one alone gets it.
  std::map<std::string, Tensor> state(const Device& host) const;
  /// Of all parameters; what is not this rank's is dropped. Throws as Optimiser::load_state().
  void load_state(std::map<std::string, Tensor> state);

 private:
  bool own(std::size_t i) const { return owners_[i] == ranks_.rank(); }
  void spread();
  // Drops what is of the others' parameters.
  void keep_own(std::map<std::string, Tensor>& state) const;

  optim::Optimiser& optimiser_;
  parallel::Ranks& ranks_;
  std::vector<int> owners_;  // rank of each parameter; none: not shared out
  int tag_ = 0;
};

}  // namespace fovea::training
