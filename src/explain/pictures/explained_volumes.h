// Explanations of what runs say of volumes.
#pragma once

#include "explain/pictures/explained_runs.h"

namespace fovea::explain {

/// A volume is explained inside one window, as large as the crops of its training, around the
/// middle of the voxels that are asked about: those of the region, or those that are predicted to
/// be of the class. Writes explain-<run>-<case>.png, slices in three planes with the map of every
/// method, and relevance.csv, explained.csv and maps.safetensors: <run>/<method>/<case> (d, h, w)
/// of the window, whose first voxel and size are in the metadata "<run>/window/<case>"; with
/// `page` explain.html. `region`:
/// voxels of the file.
void explain_volumes(const ExplainedRuns& asked);

}  // namespace fovea::explain
