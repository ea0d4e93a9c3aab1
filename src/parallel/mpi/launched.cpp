#include <algorithm>
#include <array>
#include <cstdlib>

#include "parallel/mpi/mpi.h"

namespace fovea::parallel {

// Inside a batch job SLURM sets names of its own for the script itself, too; these are set for the
// processes that srun or mpirun starts. PMI and PMIx are how launchers talk to MPI.
bool is_launched() {
  constexpr std::array kSizes = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  for (const char* name : kSizes) {
    if (const char* size = std::getenv(name)) return std::atoi(size) > 1;
  }
  return std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
}

}  // namespace fovea::parallel
