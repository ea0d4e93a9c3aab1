// What an experiment file need not say, since it follows from the data and the task.
#pragma once

#include "schema/json/value.h"

namespace fovea::experiment {

/// Sets, where they are not given: task, by what the data set holds; the types of model and loss
/// and train.batch_size, by task and data (training::TaskInfo). `unresolved` need not be valid:
/// what is wrong with it is said with the rest, when it is resolved. Throws ConfigError for a loss
/// where the task has one of its own.
schema::Value with_usual_settings(const schema::Value& unresolved);

}  // namespace fovea::experiment
