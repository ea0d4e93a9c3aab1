// The function between two linear layers, as a value.
#pragma once

#include "backend/backend.h"

namespace fovea::ops {

/// GELU, ReLU, SiLU and others whose derivative follows from x alone, or a gated one: act(a) b for
/// x = [a, b] halved on the last axis, with gate_last a act(b).
struct Activation {
  UnaryOp kind = UnaryOp::kGelu;
  bool gated = false;
  bool gate_last = false;
};

/// f(x): (..., n) -> (..., n), or (..., n / 2) where gated. Throws ShapeError if n is odd then.
/// Layers behind it make it again in backward, all but a ReLU, which needs no more than its result:
/// of the hidden layer of an FFN, the largest thing that training would keep, one copy is kept.
Tensor activate(const Activation& f, const Tensor& x);

}  // namespace fovea::ops
