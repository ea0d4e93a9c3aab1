// A build without MPI.
#include "parallel/mpi/mpi.h"

#include "parallel/launched.h"

namespace fovea::parallel {

std::shared_ptr<Transport> join() {
  FOVEA_CHECK(!is_launched(), ConfigError,
              "mpirun has started several processes, and this build has no MPI; install "
              "libopenmpi-dev and build again, or start one process");
  return nullptr;
}

}  // namespace fovea::parallel
