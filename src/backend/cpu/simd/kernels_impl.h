// Body of the kernels of simd.h; included once per instruction set. Everything is in an unnamed
// namespace and no standard template is instantiated: a function shared between the object files
// would be taken from whichever comes first and might then use instructions the processor lacks.
// (xsimd's templates carry the instruction set in their type.)

#include "backend/cpu/simd/correlate_impl.h"
#include "backend/cpu/simd/elementwise_impl.h"
#include "backend/cpu/simd/product_impl.h"
#include "backend/cpu/simd/rows_impl.h"
#include "backend/cpu/simd/simd.h"
#include "backend/cpu/simd/update_impl.h"

namespace fovea::cpu::simd {
namespace {

template <class T>
Kernels<T> make() {
  return {unary<T>,
          unary_backward<T>,
          binary<T>,
          axpy<T>,
          gated<T>,
          gated_backward<T>,
          sum<T>,
          dot<T>,
          max<T>,
          exp_sum<T>,
          softmax_backward<T>,
          combine<T>,
          normalise<T>,
          centred_squares<T>,
          normalise_backward<T>,
          product<T>,
          dropout<T>,
          adamw<T>,
          correlate<T>,
          correlate_sums<T>};
}

}  // namespace

Table FOVEA_SIMD_TABLE() { return {FOVEA_SIMD_NAME, make<float>(), make<double>()}; }

}  // namespace fovea::cpu::simd
