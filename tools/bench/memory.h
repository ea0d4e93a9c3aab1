// The process's memory as the system sees it. It also counts what our allocator does not know:
// libraries, buffers of BLAS, stacks.
#pragma once

#include <cstdint>

namespace fovea::bench {

/// Bytes in memory now; 0 where the system does not say.
std::int64_t resident_bytes();
/// Most bytes in memory since the start or the last reset; 0 where the system does not say.
std::int64_t peak_resident_bytes();
/// Gives unused heap back to the system and starts the peak again from what is then in memory.
void reset_peak_resident();

}  // namespace fovea::bench
