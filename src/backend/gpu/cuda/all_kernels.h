// Every kernel for the one dtype that is defined, inside its namespace; no include guard.
#include "backend/gpu/kernels/types.h"

#include "backend/gpu/kernels/grid.h"
#include "backend/gpu/kernels/tile.h"
#include "backend/gpu/kernels/walk.h"
#include "backend/gpu/kernels/group.h"

#include "backend/gpu/kernels/memory.cl"
#ifndef DTYPE_is_integer
#include "backend/gpu/kernels/attention_tile.h"
#include "backend/gpu/kernels/linear_tile.h"
#include "backend/gpu/kernels/linear_results.h"

#include "backend/gpu/kernels/attention.cl"
#include "backend/gpu/kernels/attention_backward.cl"
#include "backend/gpu/kernels/channel_norm.cl"
#include "backend/gpu/kernels/conv.cl"
#include "backend/gpu/kernels/conv_product.cl"
#include "backend/gpu/kernels/elementwise.cl"
#include "backend/gpu/kernels/gemm.cl"
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
#endif
