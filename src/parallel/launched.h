// Whether this process was started together with others, by its environment.
#pragma once

namespace fovea::parallel {

/// Whether mpirun, mpiexec or srun has started this process. MPI itself would take a tenth of a
/// second to say so.
bool is_launched();
/// The rank of a process that was launched, before it joins the others; 0 of any other.
int launched_rank();
/// The same among the ranks of its machine.
int launched_local_rank();

/// Programs that this one starts shall not take themselves for ranks: it was started together with
/// others (`srun fovea ablate`), which start programs of their own. Before any thread begins.
void forget_launch();

}  // namespace fovea::parallel
