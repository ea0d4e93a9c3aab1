// How far an explanation moves with small changes of the input (Yeh et al., On the (in)fidelity and
// sensitivity of explanations, 2019). explain B.10.
#pragma once

#include "explain/scores/score.h"

namespace fovea::explain {

/// ||after - before|| / ||before||, Euclidean; NaN if `before` is 0. Throws ShapeError unless both
/// are as long.
double relative_change(std::span<const double> before, std::span<const double> after);

}  // namespace fovea::explain
