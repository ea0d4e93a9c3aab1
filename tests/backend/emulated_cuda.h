// CUDA's tensor cores where there is no card: a device whose kernels are the text that nvcc
// compiles, compiled for the host. 256 fibers are a group, and instructions of tensor cores do what
// their specification says (PTX ISA, "Warp-level matrix instructions"). Slow; for tests of small
// cases.
//
// Mistakes show that a card shows now and then: after each barrier work items go on in a random
// order; local memory is full of NaN when a group begins, and so is memory that is allocated; four
// float32 that are read at once from an address that is no multiple of 16 are an error.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "tensor/device.h"

namespace fovea::test {

/// seed: of the orders of work items and of the NaNs.
Device emulated_cuda(bool allow_tf32, std::uint64_t seed = 1);

/// The barriers, and shuffles of warps, that kernels reach while `run` runs, as "file:line".
std::set<std::string> barriers_reached(const std::function<void()>& run);

/// Takes a barrier out of the kernels as long as it lives, or the first lane of each warp out of a
/// shuffle. One at a time.
class WithoutBarrier {
 public:
  explicit WithoutBarrier(const std::string& barrier);
  ~WithoutBarrier();
  WithoutBarrier(const WithoutBarrier&) = delete;
  WithoutBarrier& operator=(const WithoutBarrier&) = delete;
};

}  // namespace fovea::test
