// The "eval" section of an experiment file.
#pragma once

#include "metrics/cases.h"
#include "schema/fields.h"

namespace fovea::training {

struct EvalOptions : metrics::CaseMetrics {
  schema::Component inferer{"whole", {}};  // inference/inferer.h
};
const schema::Fields<EvalOptions>& eval_fields();

}  // namespace fovea::training
