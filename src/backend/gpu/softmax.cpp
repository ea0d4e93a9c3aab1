// Softmax of rows, and its cross-entropy.
#include "backend/gpu/launch.h"
#include "backend/gpu/rows.h"

namespace fovea::gpu {

void GpuBackend::softmax(const SoftmaxArgs& args, const Tensor& x, const Tensor& mask,
                         const Tensor& y) const {
  if (x.numel() == 0) return;
  const Rows rows = rows_of(x);
  const Index rows_per_item = mask.defined() ? rows.count / mask.size(0) : rows.count;
  const Index queries = args.causal ? x.size(-2) : 1;
  launch_rows(Kernel::softmax, x.dtype(), rows, rows_per_item, queries, Int32{args.log},
              Int32{args.causal}, x, mask, y);
}

void GpuBackend::softmax_backward(const SoftmaxArgs& args, const Tensor& y, const Tensor& dy,
                                  const Tensor& dx) const {
  launch_rows(Kernel::softmax_backward, y.dtype(), rows_of(y), Int32{args.log}, y, dy, dx);
}

void GpuBackend::cross_entropy(const CrossEntropyArgs& args) const {
  const DType dtype = args.logits.dtype();
  launch_rows(Kernel::cross_entropy, dtype, rows_of(args.logits), Real{args.smoothing, dtype},
              Index{args.ignore_index}, args.logits, args.target, args.loss, args.lse);
}

void GpuBackend::cross_entropy_backward(const CrossEntropyBackwardArgs& args) const {
  const DType dtype = args.logits.dtype();
  launch_rows(Kernel::cross_entropy_backward, dtype, rows_of(args.logits),
              Real{args.smoothing, dtype}, Index{args.ignore_index}, args.logits, args.target,
              args.lse, args.dloss, args.dlogits);
}

}  // namespace fovea::gpu
