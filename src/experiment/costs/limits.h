// The least time of an operation on this machine: a roofline.
#pragma once

#include <cstdint>
#include <string>

#include "autograd/profiler.h"
#include "backend/peaks.h"

namespace fovea::experiment {

struct Limit {
  double seconds = 0;
  std::string what;  // "products", or the level of memory: "L1" ... "memory"; "": none
};

/// The arithmetic of an operation's multiply-adds, at the peak of its type, or the bytes that it
/// moves at least, whichever takes longer (Williams et al. 2009, "Roofline"). The bytes are taken
/// to be in the smallest level that holds all of them, where the operation before may have left
/// them. An operation that moves nothing does no work of its own.
Limit limit_of(const autograd::Event& event, const Peaks& peaks);

/// Seconds that a level takes to read and write so many bytes: as many as are read and written are
/// copied, the rest is only read, or only written; past the caches where that is faster.
double transfer_seconds(std::int64_t read, std::int64_t written, const MemoryPeak& level);

/// The level of `bytes`.
const MemoryPeak& level_of(std::int64_t bytes, const Peaks& peaks);

}  // namespace fovea::experiment
