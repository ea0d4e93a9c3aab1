// Cross-validation of an experiment: each fold of its training samples is the val part once.
#pragma once

#include <cstdint>
#include <string>

#include "schema/json/value.h"

namespace fovea::experiment {

/// The resolved experiment with fold `index` of `count` as its val part (`dataset.split.fold`),
/// resolved. Folds of samples with classes are stratified unless the experiment says otherwise.
/// Throws ConfigError where it has a fold or a share of train as val already, and for data without
/// folds.
schema::Value with_fold(const schema::Value& resolved, std::int64_t index, std::int64_t count);

/// Complains if the data of an experiment come with a val part, which folds would leave unused; ""
/// if not. Opens the data; throws FileError.
std::string complaint_about_own_val(const schema::Value& resolved);

}  // namespace fovea::experiment
