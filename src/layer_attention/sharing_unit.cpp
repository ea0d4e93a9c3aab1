#include "layer_attention/sharing_unit.h"

#include <algorithm>

#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::layer_attention {

class SharingUnit::Projection final : public nn::UnaryModule {
 public:
  Projection(const nn::Build& build, std::int64_t in, std::int64_t hidden, std::int64_t out)
      : first_(child<nn::Linear>("0.seq.0", build, in, hidden)),
        second_(child<nn::Linear>("0.seq.2", build, hidden, out)) {}
  std::string type() const override { return "Projection"; }

 protected:
  Tensor forward(const Tensor& x) override { return second_(ops::relu(first_(x))); }

 private:
  nn::Linear& first_;
  nn::Linear& second_;
};

SharingUnit::SharingUnit(const nn::Build& build, std::int64_t channels, std::int64_t reduction,
                         bool output_gate)
    : channels_(channels),
      output_gate_(output_gate),
      input_(child<Projection>("w_ih", build, channels,
                               std::max<std::int64_t>(1, channels / reduction),
                               (output_gate ? 4 : 3) * channels)),
      hidden_(child<Projection>("w_hh", build, channels,
                                std::max<std::int64_t>(1, channels / reduction),
                                (output_gate ? 4 : 3) * channels)) {}

CellState SharingUnit::operator()(const Tensor& y, const CellState& state) {
  const auto scope = enter();
  const Tensor hidden = state.hidden.defined() ? state.hidden : ops::zeros_like(y.detach());
  const Tensor gates = ops::add(input_(y), hidden_(hidden));
  const auto gate = [&](int i) { return ops::slice(gates, 1, i * channels_, channels_); };
  CellState next;
  next.cell = ops::mul(ops::sigmoid(gate(0)), ops::tanh(gate(2)));
  if (state.cell.defined()) {
    next.cell = ops::add(ops::mul(ops::sigmoid(gate(1)), state.cell), next.cell);
  }
  next.hidden = ops::sigmoid(next.cell);
  if (output_gate_) next.hidden = ops::mul(ops::sigmoid(gate(3)), next.hidden);
  return next;
}

}  // namespace fovea::layer_attention
