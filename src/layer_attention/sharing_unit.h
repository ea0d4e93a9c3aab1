// The small LSTM-like cell that all layers of a stage share. kcla 2.4 (DSU), 2.5 (DIANet).
#pragma once

#include "nn/linear.h"
#include "nn/module.h"

namespace fovea::layer_attention {

/// Hidden and cell state, (b, c) each; undefined stands for zeros.
struct CellState {
  Tensor hidden, cell;
};

/// gates = W_ih(y) + W_hh(h), each W: Linear(c, c / r), ReLU, Linear(c / r, gates c), with biases.
///   s' = sigmoid(f) s + sigmoid(i) tanh(g)
///   h' = sigmoid(s') with three gates (i, f, g), sigmoid(o) sigmoid(s') with four (i, f, g, o)
/// Names: w_ih.0.seq.{0,2}, w_hh.0.seq.{0,2}.
class SharingUnit final : public nn::Module {
 public:
  SharingUnit(const nn::Build& build, std::int64_t channels, std::int64_t reduction,
              bool output_gate);
  std::string type() const override { return "SharingUnit"; }
  /// y: (b, c). The state may have one row for all samples.
  CellState operator()(const Tensor& y, const CellState& state);

 private:
  class Projection;
  std::int64_t channels_;
  bool output_gate_;
  Projection& input_;
  Projection& hidden_;
};

}  // namespace fovea::layer_attention
