// A run goes on with the data it began with, or not at all.
#pragma once

#include <filesystem>

#include "schema/json/value.h"
#include "training/tasks/task.h"

namespace fovea::training {

/// Compares two fingerprints of data (Task::fingerprint); null is unknown and fits all. Throws
/// FileError that says what differs.
void refuse_other_data(const schema::Value& before, const schema::Value& now,
                       const std::filesystem::path& run_folder);

/// Writes splits.json where it is not there yet, otherwise compares it. Throws FileError that names
/// the part and the first sample that differs.
void keep_sample_lists(const Task& task, const std::filesystem::path& run_folder);

}  // namespace fovea::training
