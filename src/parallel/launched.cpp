#include "parallel/launched.h"

#include <array>
#include <cstdlib>
#include <span>

namespace fovea::parallel {
namespace {

// Inside a batch job SLURM sets names of its own for the script itself, too; these are set for the
// processes that srun or mpirun starts. PMI and PMIx are how launchers talk to MPI.
constexpr std::array kSizes = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
constexpr std::array kRanks = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
constexpr std::array kLocalRanks = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                    "SLURM_LOCALID"};

// The first that is set; null: none is.
const char* first_of(std::span<const char* const> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) return value;
  }
  return nullptr;
}

int number_of(std::span<const char* const> names) {
  const char* value = first_of(names);
  return value != nullptr ? std::atoi(value) : 0;
}

}  // namespace

bool is_launched() {
  if (first_of(kSizes) != nullptr) return number_of(kSizes) > 1;
  return first_of(kRanks) != nullptr;
}

int launched_rank() { return number_of(kRanks); }
int launched_local_rank() { return number_of(kLocalRanks); }

void forget_launch() {
  for (const char* name : kSizes) ::unsetenv(name);
  for (const char* name : kRanks) ::unsetenv(name);
}

}  // namespace fovea::parallel
