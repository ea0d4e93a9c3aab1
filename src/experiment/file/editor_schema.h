// What editors need to help with experiment files.
#pragma once

#include "schema/json/value.h"

namespace fovea::experiment {

/// A JSON Schema (draft 7) of experiment files and of ablation files, which are told apart by the
/// keys that only the latter have. Comments and what extended files add are not covered.
schema::Value editor_schema();

}  // namespace fovea::experiment
