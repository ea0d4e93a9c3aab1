#include "backend/gpu/opencl/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"

// What the build embeds: the files of kernels/, and operations.def.
extern "C" {
#define FOVEA_EMBEDDED(file, name) extern const char fovea_##name##_begin[], fovea_##name##_end[];
#include "gpu_texts.def"
}

namespace fovea::gpu {
namespace {

std::string_view text_of(std::string_view file) {
  struct Embedded {
    std::string_view file;
    const char* begin;
    const char* end;
  };
  static constexpr Embedded kTexts[] = {
#define FOVEA_EMBEDDED(file, name) {file, fovea_##name##_begin, fovea_##name##_end},
#include "gpu_texts.def"
  };
  const auto* found = std::find_if(std::begin(kTexts), std::end(kTexts),
                                   [&](const Embedded& text) { return text.file == file; });
  FOVEA_CHECK(found != std::end(kTexts), BackendError,
              fmt::format("opencl: {} is not among the files of kernels", file));
  return {found->begin, found->end};
}

// A file with those that it includes by name, in place of these lines: drivers have no folders.
std::string whole_text(std::string_view file) {
  constexpr std::string_view kInclude = "#include \"";
  std::string whole;
  std::string_view rest = text_of(file);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with(kInclude)) {
      const std::string_view path = line.substr(kInclude.size(), line.rfind('"') - kInclude.size());
      whole += whole_text(path.substr(path.rfind('/') + 1));
    } else {
      whole.append(line) += '\n';
    }
  }
  return whole;
}

}  // namespace

std::string source_of(Kernel kernel) {
  return whole_text("opencl.h") + whole_text("structs.h") + whole_text(file_of(kernel) + ".cl");
}

std::string file_of(Kernel kernel) {
  static constexpr const char* kFiles[] = {
#define FOVEA_GPU_KERNEL(file, kernel) #file,
#include "backend/gpu/kernels.def"
  };
  return kFiles[static_cast<int>(kernel)];
}

}  // namespace fovea::gpu
