#include "backend/gpu/opencl/source.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/error.h"

// What the build embeds: each file of kernels/.
extern "C" {
#define FOVEA_EMBEDDED(name) extern const char fovea_##name##_begin[], fovea_##name##_end[];
FOVEA_EMBEDDED(gpu_opencl)
FOVEA_EMBEDDED(gpu_structs)
FOVEA_EMBEDDED(gpu_types)
FOVEA_EMBEDDED(gpu_operations_def)
FOVEA_EMBEDDED(gpu_operations)
FOVEA_EMBEDDED(gpu_walk)
FOVEA_EMBEDDED(gpu_group)
FOVEA_EMBEDDED(gpu_grid)
FOVEA_EMBEDDED(gpu_planes)
FOVEA_EMBEDDED(gpu_warp_tile)
FOVEA_EMBEDDED(gpu_attention_tile)
FOVEA_EMBEDDED(gpu_linear_tile)
FOVEA_EMBEDDED(gpu_linear_results)
#define FOVEA_GPU_KERNEL(file, kernel) FOVEA_EMBEDDED(gpu_##file)
#include "backend/gpu/kernels.def"
#undef FOVEA_EMBEDDED
}

namespace fovea::gpu {
namespace {

#define FOVEA_TEXT(name) std::string_view(fovea_##name##_begin, fovea_##name##_end)

struct Entry {
  const char* file;
  std::string_view text;
};

const Entry& entry_of(Kernel kernel) {
  static const std::array entries = {
#define FOVEA_GPU_KERNEL(file, kernel) Entry{#file, FOVEA_TEXT(gpu_##file)},
#include "backend/gpu/kernels.def"
  };
  return entries.at(static_cast<std::size_t>(kernel));
}

// Our headers include nothing of their own but the list of operations.
std::string with_operations(std::string_view text) {
  constexpr std::string_view kInclude = "#include \"operations.def\"\n";
  std::string whole(text);
  for (std::size_t at = 0; (at = whole.find(kInclude, at)) != std::string::npos;)
    whole.replace(at, kInclude.size(), FOVEA_TEXT(gpu_operations_def));
  return whole;
}

}  // namespace

std::string source_of(Kernel kernel) {
  std::string source;
  source += FOVEA_TEXT(gpu_opencl);
  source += FOVEA_TEXT(gpu_structs);
  source += FOVEA_TEXT(gpu_types);
  source += with_operations(FOVEA_TEXT(gpu_operations));
  source += FOVEA_TEXT(gpu_walk);
  source += FOVEA_TEXT(gpu_group);
  source += FOVEA_TEXT(gpu_grid);
  source += FOVEA_TEXT(gpu_planes);
  const std::string file = file_of(kernel);
  const bool attends = file.starts_with("attention");
  if (attends || file == "gemm" || file == "conv_product") source += FOVEA_TEXT(gpu_warp_tile);
  if (attends) source += FOVEA_TEXT(gpu_attention_tile);
  if (file.starts_with("linear_attention")) {
    source += FOVEA_TEXT(gpu_linear_tile);
    source += FOVEA_TEXT(gpu_linear_results);
  }
  source += entry_of(kernel).text;
  return source;
}

std::string file_of(Kernel kernel) { return entry_of(kernel).file; }

}  // namespace fovea::gpu
