// The graphics processor that tests run on, or what passes for one.
#pragma once

#include "tests/support/tensors.h"

namespace fovea::test {

/// The first device of OpenCL, which may be a processor's (PoCL), and the first of CUDA; or the one
/// that FOVEA_TEST_GPU names, which has to be there. Tests of these are tagged [gpu].
std::vector<Device> gpus();
/// The first of these. Undefined, with a warning, where no driver is installed.
Device any_gpu();

}  // namespace fovea::test
