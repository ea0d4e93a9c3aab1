// Bodies of the kernels of simd.h; included once per instruction set. Everything is in an unnamed
// namespace and no standard template is instantiated: the linker would take a shared function from
// any of the object files, perhaps with instructions that the processor lacks. (xsimd's templates
// carry the instruction set in their type.)

#include "backend/cpu/simd/attention_impl.h"
#include "backend/cpu/simd/channel_impl.h"
#include "backend/cpu/simd/conv_lines_impl.h"
#include "backend/cpu/simd/correlate_impl.h"
#include "backend/cpu/simd/elementwise_impl.h"
#include "backend/cpu/simd/layout_impl.h"
#include "backend/cpu/simd/linear_attention_impl.h"
#include "backend/cpu/simd/norm_impl.h"
#include "backend/cpu/simd/peak_impl.h"
#include "backend/cpu/simd/plane_conv_impl.h"
#include "backend/cpu/simd/product_impl.h"
#include "backend/cpu/simd/region_impl.h"
#include "backend/cpu/simd/roi_impl.h"
#include "backend/cpu/simd/rows_impl.h"
#include "backend/cpu/simd/simd.h"
#include "backend/cpu/simd/token_impl.h"
#include "backend/cpu/simd/update_impl.h"

namespace fovea::cpu::simd {
namespace {

// Tables are filled by name.
template <class S>
Maps<S> maps() {
  return {
#define FOVEA_LOOP(result, name, parameters) .name = simd::name<S>,
#include "backend/cpu/simd/stored_loops.def"
  };
}

template <class T>
Kernels<T> make() {
  return {
#define FOVEA_LOOP(result, name, parameters) .name = simd::name<T>,
#include "backend/cpu/simd/stored_loops.def"
#define FOVEA_LOOP(result, name, parameters) .name = simd::name<T>,
#include "backend/cpu/simd/compute_loops.def"
  };
}

}  // namespace

#ifdef FOVEA_SIMD_BFLOAT16
Maps<BFloat16> FOVEA_SIMD_BFLOAT16() { return maps<BFloat16>(); }
#else
Table FOVEA_SIMD_TABLE() {
  return {.name = FOVEA_SIMD_NAME,
          .vector_bytes = static_cast<std::int64_t>(sizeof(Batch<float>)),
          .f32 = make<float>(),
          .f64 = make<double>(),
          .bf16 = maps<BFloat16>()};
}
#endif

}  // namespace fovea::cpu::simd
