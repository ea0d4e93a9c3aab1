// MPI as a transport: OpenMPI, MPICH and what else has its interface.
#pragma once

#include <memory>

#include "parallel/transport.h"

namespace fovea::parallel {

/// Joins the processes that were started together; null where this one was started alone. The
/// connection ends with Transport::leave() or abort(). Throws ConfigError where several were
/// started and the build has no MPI.
std::shared_ptr<Transport> join();

}  // namespace fovea::parallel
