// What the process took of the processor, which other programs on a busy machine do not change.
#pragma once

#include <ctime>

namespace fovea::bench {

/// Seconds of all threads so far, with what the kernel did for them. The share outside of the
/// kernel is not told apart: systems guess it from samples some milliseconds apart.
inline double cpu_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

}  // namespace fovea::bench
