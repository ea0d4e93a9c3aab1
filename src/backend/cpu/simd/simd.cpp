#include "backend/cpu/simd/simd.h"

#include <cstdlib>
#include <optional>
#include <string_view>

// What was left out of the build: FOVEA_NO_SSE2 and FOVEA_NO_AVX2, their kernels; FOVEA_NO_AVX512,
// those of AVX-512 and of tile registers.
#if defined(__x86_64__) && !defined(FOVEA_NO_AVX512)
#define FOVEA_HAS_AVX512
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "backend/cpu/simd/amx.h"
#include "base/error.h"

namespace fovea::cpu::simd {
namespace {

// The instruction set that the environment asks for; empty: none.
std::string_view wished() {
  const char* wish = std::getenv("FOVEA_SIMD");
  return wish == nullptr ? "" : wish;
}

Table choose() {
#if defined(__x86_64__)
  const std::string_view limit = wished();
  if (limit != "sse2") {
#if defined(FOVEA_HAS_AVX512)
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512cd");
    if (avx512 && limit != "avx2") {
      Table table = avx512_kernels();
      if (__builtin_cpu_supports("avx512bf16")) table.bf16 = avx512_bfloat16_kernels();
      return table;
    }
#endif
#if !defined(FOVEA_NO_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2_kernels();
#endif
  }
#endif
#if defined(FOVEA_NO_SSE2)
  throw BackendError(
      "cpu: this program was built without kernels of SSE2, and the others are not for this "
      "processor or not wanted (FOVEA_SIMD); build it again with cmake --preset release "
      "-DFOVEA_LEAVE_OUT=");
#else
  return sse2_kernels();
#endif
}

#if defined(FOVEA_HAS_AVX512)
// Tile registers and their bfloat16 products, conversions to bfloat16 in vectors, and Linux's
// permission to use the registers, which a process has to ask for once.
bool tiles_usable() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBFloat16 = 1u << 22, kTiles = 1u << 24;
  if ((d & kBFloat16) == 0 || (d & kTiles) == 0) return false;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) == 0 || (a & (1u << 5)) == 0) return false;
  constexpr long kAskForState = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
}
#endif

std::optional<AmxTable> choose_amx() {
#if defined(FOVEA_HAS_AVX512)
  if (wished().empty() && std::string_view(kernels().name) == "avx512" && tiles_usable())
    return amx_table();
#endif
  return std::nullopt;
}

}  // namespace

const Table& kernels() {
  static const Table table = choose();
  return table;
}

const AmxTable* amx() {
  static const std::optional<AmxTable> table = choose_amx();
  return table ? &*table : nullptr;
}

}  // namespace fovea::cpu::simd
