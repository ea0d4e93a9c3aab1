// What of a run's configuration is a draw, its seed and the fold of its cross-validation, apart
// from what it has in common with the others of its kind.
#pragma once

#include <string>

#include "schema/json/value.h"

namespace fovea::experiment {

struct RunDraw {
  std::string settings;  // what results depend on, but for the draw
  std::string draw;      // seed and fold
};
/// Of a resolved configuration.
RunDraw run_draw(const schema::Value& config);

}  // namespace fovea::experiment
