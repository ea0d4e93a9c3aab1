// Runs as single files: made by `fovea export`, opened in the place of a run folder.
#pragma once

#include <string>

#include "experiment/run/open_run.h"
#include "training/store/model_file.h"

namespace fovea::experiment {

struct ExportRequest {
  TrainedRun run;
  // Words of the author; "" = none.
  std::string license;  // an SPDX identifier, such as "CC-BY-4.0", or a sentence
  std::string author;
  std::string description;
};

/// What a run hands on. ModelFile::about has "name", "task", "dataset", "license", "author",
/// "description", "weights" (WeightsUsed::describe), "parameters" (their number; null of a run that
/// is not over), "metrics" where the weights are those that summary.json is about, else null,
/// "data" (the fingerprint of what they were trained on) and "program". The data set is opened only
/// where an older program wrote the checkpoint. Throws FileError and ConfigError.
training::ModelFile exported(const ExportRequest& request);

/// What a model file is, for people and programs: its `about`, and "model" (the type), "outputs"
/// (names), "weights_text", "files" (names), "hash". Throws FileError.
schema::Value described(const training::ModelFile& model);

/// As read_run(), of a model file. Throws ConfigError for a checkpoint or averages that are asked
/// for and not in it: it has one set of weights.
StoredRun read_exported(const TrainedRun& file);

}  // namespace fovea::experiment
