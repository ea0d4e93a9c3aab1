// The "eval" section of an experiment file.
#pragma once

#include "metrics/cases.h"
#include "schema/fields.h"
#include "training/decoding_options.h"

namespace fovea::training {

struct EvalOptions : metrics::CaseMetrics {
  schema::Component inferer{"whole", {}};  // inference/inferer.h
  schema::Component sampler{"ddpm", {}};   // inference/sampler.h
  std::int64_t samples = 4;                // images of each class in a picture of them
  DecodingOptions decoding;
  std::vector<schema::Component> questions;  // data/questions/question_set.h
};
const schema::Fields<EvalOptions>& eval_fields();

}  // namespace fovea::training
