// What the process took of the processor, which other programs on a busy machine do not change.
#pragma once

namespace fovea::bench {

/// Seconds of all threads so far, outside of the kernel; 0 on systems that do not say.
double user_seconds();

}  // namespace fovea::bench
