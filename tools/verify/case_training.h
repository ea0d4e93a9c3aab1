// Training sequences of golden cases: the case's batches through the library's own training loop.
#pragma once

#include <functional>

#include "models/model.h"
#include "training/losses/loss.h"
#include "training/trainer.h"
#include "verify/case.h"

namespace fovea::verify {

struct CaseStep {
  models::Inputs input;
  Tensor target;
};

struct CaseTraining {
  models::Model& model;
  training::Loss loss;
  std::int64_t steps = 0;                            // of the case
  std::int64_t per_epoch = 1;                        // steps of an epoch
  std::function<CaseStep(std::int64_t step)> batch;  // step from 0
};

/// Trains in a folder of its own until the case has no more batches, and calls `logged` with what
/// the loop wrote about every step: a record of metrics.jsonl. What `setup` says of a run's folder,
/// host and configuration is filled in here.
void train_case(const Case& c, const CaseTraining& training, training::TrainerSetup setup,
                const std::function<void(const schema::Value& record)>& logged);

}  // namespace fovea::verify
