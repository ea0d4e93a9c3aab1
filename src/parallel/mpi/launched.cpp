#include <array>
#include <cstdlib>
#include <initializer_list>

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

namespace {

int first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* number = std::getenv(name)) return std::atoi(number);
  }
  return 0;
}

}  // namespace

int launched_rank() { return first_of({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}); }

int launched_local_rank() {
  return first_of({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
}

}  // namespace fovea::parallel
