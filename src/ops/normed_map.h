// The result of a batch norm as it is made again (Op::remake).
#pragma once

#include "backend/fused_args.h"

namespace fovea::ops {

/// Makes the whole map. Convolutions know this form: their kernels make it piece by piece.
struct RemakeNormed {
  NormedMap map;
  Tensor operator()() const;
};

}  // namespace fovea::ops
