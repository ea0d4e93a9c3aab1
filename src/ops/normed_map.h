// The result of a batch or group norm as it is made again (Op::remake).
#pragma once

#include "backend/fused_args.h"

namespace fovea::ops {

/// Makes the whole map. Convolutions know the form of a batch norm: their kernels make it piece by
/// piece.
struct RemakeNormed {
  NormedMap map;
  Tensor operator()() const;
};

}  // namespace fovea::ops
