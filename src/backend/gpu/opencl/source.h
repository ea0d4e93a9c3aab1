// The text of kernels for OpenCL, which compiles them when they are first launched.
#pragma once

#include <string>

#include "backend/gpu/runtime.h"

namespace fovea::gpu {

/// The kernel's file with all that it reads, for one program.
std::string source_of(Kernel kernel);
/// The name of that file.
std::string file_of(Kernel kernel);

}  // namespace fovea::gpu
