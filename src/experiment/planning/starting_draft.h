// Inside of starting_file.cpp: an experiment file while it is made, and what is said of each kind
// of data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "experiment/planning/starting_file.h"
#include "schema/json/value.h"

namespace fovea::experiment {

// Processors get networks of which a training step takes about a second on a few cores.
inline constexpr std::int64_t kStepOfProcessors = 60'000'000'000;  // multiply-adds
inline constexpr std::int64_t kFeaturesOfProcessors = 16;
inline constexpr std::int64_t kSideOfProcessors = 128;

struct Draft {
  FoundData found;
  const StartOptions& options;
  bool processor = true;
  /// The keys of the file; null: left out.
  schema::Value model = {}, loss = {}, optimiser = {}, schedule = {}, train = {}, eval = {};
  std::vector<std::string> about_data = {}, about_model = {}, about_recipe = {}, about_eval = {};
  std::string summary = {};
  schema::Value trial = {};  // the experiment by which the data were opened
};

/// Set all but train.device by the data. Throw FileError and ConfigError.
void draft_images(Draft& draft);
void draft_maps(Draft& draft);  // volumes, and images with masks
void draft_texts(Draft& draft);

/// The data set opened for a look, with options that its keys need until they are known.
data::Splits opened(Draft& draft, const schema::Value& more, const schema::Value& model);
/// Throws ConfigError for a part without samples.
const data::Dataset& train_of(const data::Splits& splits);
/// The first task that reads such data.
std::string task_of(const schema::Value& dataset);
/// That a training step may take, in bytes; 0: not known.
std::int64_t memory_of(const Draft& draft);

/// A power of two near a tenth of train, so that an epoch has ten steps.
std::int64_t batch_for(std::int64_t samples, std::int64_t most);
std::int64_t epochs_for(std::int64_t samples, std::int64_t batch, std::int64_t steps,
                        std::int64_t least, std::int64_t most);
schema::Value adamw(double lr, double weight_decay);

}  // namespace fovea::experiment
