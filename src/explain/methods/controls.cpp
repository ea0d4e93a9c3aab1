#include "explain/methods/controls.h"

#include <algorithm>

#include "explain/units.h"

namespace fovea::explain {

GridSize control_grid(const Subject& subject) {
  const GridSize grid = subject.grid(), size = subject.size();
  if (subject.reads_text()) return size;
  if (grid.count() > 0) return grid;
  return {std::min(kBlocks, size.h), std::min(kBlocks, size.w), std::min(kBlocks, size.d)};
}

}  // namespace fovea::explain
