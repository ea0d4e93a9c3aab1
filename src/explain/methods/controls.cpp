#include "explain/methods/controls.h"

#include "explain/units.h"

namespace fovea::explain {

GridSize control_grid(const Subject& subject) {
  if (subject.reads_text()) return subject.size();
  const Units units = units_of(subject.grid(), subject.size());
  return {units.rows, units.cols};
}

}  // namespace fovea::explain
