// Matrix products by register tiles of our own (simd/product_impl.h). An element is a sum of sums
// of simd::kPanelDepth terms, whatever the sizes around it, so its bits depend on its row of a and
// its column of b alone, and a product may be cut along m and n as is best for the threads there
// are.
#pragma once

#include "backend/args.h"
#include "backend/cpu/thread_pool.h"
#include "tensor/tensor.h"

namespace fovea::cpu {

/// Where the matrices of a product are. S and C: how a and b, and c, are stored; bfloat16 is summed
/// in float32.
template <class S, class C = S>
struct Operands {
  const S* a;
  const S* b;
  const Compute<C>* bias;  // (n), or null
  C* c;
  Compute<S>* a_sums = nullptr;  // (m), of the rows of op(a), or null
};

/// One item of a product: c = op(a) op(b) + bias, or c += op(a) op(b), in the calling thread. What
/// is in bfloat16 cannot be added to.
template <class S, class C>
void multiply_packed(const GemmArgs& args, const Operands<S, C>& at, bool accumulate = false);

/// True where multiply_rows() is best: each thread gets several blocks of rows.
bool has_many_rows(const GemmArgs& args);

/// One product, shared out among the threads: all of b is packed once. `like`: of the device.
template <class S, class C>
void multiply_rows(ThreadPool& pool, const GemmArgs& args, const Operands<S, C>& at,
                   const Tensor& like);

}  // namespace fovea::cpu
