// Body of the kernels of simd.h; included once per instruction set. Everything is in an unnamed
// namespace and no standard template is instantiated: a function shared between the object files
// would be taken from whichever comes first and might then use instructions the processor lacks.
// (xsimd's templates carry the instruction set in their type.)

#include "backend/cpu/simd/attention_impl.h"
#include "backend/cpu/simd/channel_impl.h"
#include "backend/cpu/simd/correlate_impl.h"
#include "backend/cpu/simd/elementwise_impl.h"
#include "backend/cpu/simd/layout_impl.h"
#include "backend/cpu/simd/plane_conv_impl.h"
#include "backend/cpu/simd/product_impl.h"
#include "backend/cpu/simd/rows_impl.h"
#include "backend/cpu/simd/simd.h"
#include "backend/cpu/simd/token_impl.h"
#include "backend/cpu/simd/update_impl.h"

namespace fovea::cpu::simd {
namespace {

template <class S>
Maps<S> maps() {
  return {unary<S>,
          unary_backward<S>,
          binary<S>,
          axpy<S, S>,
          axpy<S, Compute<S>>,
          gated<S>,
          gated_backward<S>,
          sum<S>,
          dot<S>,
          normalise<S>,
          centred_squares<S>,
          normalise_backward<S>,
          dropout<S>,
          take_rows<S>,
          take_columns<S>,
          put_rows<S>,
          plane_moments<S>,
          plane_normalise<S>,
          plane_gradient_sums<S>,
          plane_gradient<S>,
          token_row<S>,
          token_row_sums<S>,
          convert<Compute<S>, S>,
          convert<S, Compute<S>>};
}

template <class T>
Kernels<T> make() {
  return {maps<T>(),
          max<T>,
          extremum<T>,
          largest<T>,
          exp_sum<T>,
          softmax_backward<T>,
          combine<T>,
          softmax_rows<T>,
          probability_rows<T>,
          combine_rows<T>,
          score_gradient_rows<T>,
          product<T>,
          adamw<T>,
          correlate<T>,
          correlate_sums<T>,
          conv3x3<T>,
          conv3x3_sums<T>};
}

}  // namespace

#ifdef FOVEA_SIMD_BFLOAT16
Maps<BFloat16> FOVEA_SIMD_BFLOAT16() { return maps<BFloat16>(); }
#else
Table FOVEA_SIMD_TABLE() {
  return {FOVEA_SIMD_NAME, make<float>(), make<double>(), maps<BFloat16>()};
}
#endif

}  // namespace fovea::cpu::simd
