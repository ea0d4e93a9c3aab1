// Every kernel for the one dtype that is defined, inside its namespace; no include guard. With
// ALLOW_TF32 those alone that it changes.
// clang-format off
#include "backend/gpu/kernels/types.h"
#include "backend/gpu/kernels/grid.h"
#include "backend/gpu/kernels/walk.h"
#include "backend/gpu/kernels/group.h"
// clang-format on

#ifndef DTYPE_is_integer
#include "backend/gpu/kernels/warp_tile.h"

#include "backend/gpu/kernels/attention_tile.h"

#include "backend/gpu/kernels/attention.cl"
#include "backend/gpu/kernels/attention_backward.cl"
#include "backend/gpu/kernels/conv_product.cl"
#include "backend/gpu/kernels/gemm.cl"
#endif

#ifndef ALLOW_TF32
#include "backend/gpu/kernels/memory.cl"
#ifndef DTYPE_is_integer
// clang-format off
#include "backend/gpu/kernels/planes.h"
#include "backend/gpu/kernels/linear_tile.h"
#include "backend/gpu/kernels/linear_results.h"
// clang-format on

#include "backend/gpu/kernels/channel_norm.cl"
#include "backend/gpu/kernels/conv.cl"
#include "backend/gpu/kernels/elementwise.cl"
#include "backend/gpu/kernels/linear_attention.cl"
#include "backend/gpu/kernels/linear_attention_backward.cl"
#include "backend/gpu/kernels/list.cl"
#include "backend/gpu/kernels/norm.cl"
#include "backend/gpu/kernels/pool.cl"
#include "backend/gpu/kernels/random.cl"
#include "backend/gpu/kernels/reduce.cl"
#include "backend/gpu/kernels/region.cl"
#include "backend/gpu/kernels/resize.cl"
#include "backend/gpu/kernels/softmax.cl"
#include "backend/gpu/kernels/token_conv.cl"
#include "backend/gpu/kernels/update.cl"
#include "backend/gpu/kernels/value_norm.cl"
#endif
#endif
