#include "backend/cpu/simd/simd.h"

#include <cstdlib>
#include <string_view>

namespace fovea::cpu::simd {
namespace {

Table choose() {
  const char* wish = std::getenv("FOVEA_SIMD");
  const std::string_view limit = wish == nullptr ? "" : wish;
#if defined(__x86_64__)
  if (limit != "sse2") {
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512cd");
    if (avx512 && limit != "avx2") return avx512_kernels();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2_kernels();
  }
#endif
  return sse2_kernels();
}

}  // namespace

const Table& kernels() {
  static const Table table = choose();
  return table;
}

}  // namespace fovea::cpu::simd
