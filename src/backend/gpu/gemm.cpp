// Products of matrices.
#include "backend/gpu/launch.h"

namespace fovea::gpu {

void GpuBackend::gemm(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& bias,
                      const Tensor& c) const {
  if (runtime_->gemm(args, a, b, bias, c)) return;
  const ProductShape s{.m = args.m,
                       .n = args.n,
                       .k = args.k,
                       .a_row = args.trans_a ? 1 : args.lda,
                       .a_column = args.trans_a ? args.lda : 1,
                       .a_item = args.stride_a,
                       .b_row = args.trans_b ? 1 : args.ldb,
                       .b_column = args.trans_b ? args.ldb : 1,
                       .b_item = args.stride_b,
                       .c_row = args.ldc,
                       .c_item = args.stride_c};
  const Int32 wide = c.dtype() == compute_dtype(a.dtype()) ? 1 : 0;
  launch(Kernel::gemm, a.dtype(), args.batch * product_tiles(args.m, args.n), s, wide, a, b, bias,
         c);
}

}  // namespace fovea::gpu
