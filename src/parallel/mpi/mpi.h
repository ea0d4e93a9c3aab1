// MPI as a transport: OpenMPI, MPICH and what else has its interface.
#pragma once

#include <memory>

#include "parallel/transport.h"

namespace fovea::parallel {

/// Whether mpirun, mpiexec or srun has started this process, by its environment. MPI itself would
/// take a tenth of a second to say so.
bool is_launched();
/// The rank of a process that was launched, before it joins the others; 0 of any other.
int launched_rank();
/// The same among the ranks of its machine.
int launched_local_rank();

/// Joins the processes that were started together; null where this one was started alone. The
/// connection ends with Transport::leave() or abort(). Throws ConfigError where several were
/// started and the build has no MPI.
std::shared_ptr<Transport> join();

}  // namespace fovea::parallel
