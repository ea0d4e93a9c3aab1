// A device that is not the host, made of the host: the CPU's kernels behind handles which are not
// addresses. Its memory can be touched only while a kernel runs or a copy is made, so whatever
// reads a device's memory past host_values() and the kernels fails here instead of on a GPU.
#pragma once

#include "tensor/device.h"

namespace fovea::test {

/// kPrimitives: fused kernels run by their default bodies, as on a backend that has only what it
/// must.
enum class OpaqueKernels { kAll, kPrimitives };

/// A device of its own, equal to no other.
Device make_opaque(OpaqueKernels kernels = OpaqueKernels::kAll);

/// Kernels that all opaque devices were asked for so far, and copies to the host.
std::int64_t opaque_calls();
std::int64_t opaque_downloads();

}  // namespace fovea::test
