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
/// Handed over as the last handle on it (std::move, or a result), x becomes the result where no
/// gradient is recorded and f is not gated. The layer behind it makes f(x) again in backward,
/// unless f is a ReLU, which needs only its result. So one copy of an FFN's hidden layer is kept,
/// which is the largest tensor that training keeps.
Tensor activate(const Activation& f, Tensor x);

}  // namespace fovea::ops
