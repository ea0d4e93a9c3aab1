// How the result of a batch or group norm is made again (Op::remake).
#pragma once

#include "backend/fused_args.h"

namespace fovea::ops {

/// Makes the whole map. Kernels of convolutions read a batch norm's map and make it piece by piece.
struct RemakeNormed {
  NormedMap map;
  Tensor operator()() const;
};

}  // namespace fovea::ops
