// A run goes on with the data it began with, or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/parts/split.h"
#include "schema/json/value.h"

namespace fovea::training {

/// Compares two fingerprints of data (BatchSource::fingerprint); null is unknown and fits all.
/// Throws FileError that says what differs.
void refuse_other_data(const schema::Value& before, const schema::Value& now,
                       const std::filesystem::path& run_folder);

/// Writes the lists of samples to splits.json where it is not there yet, otherwise compares it.
/// Throws FileError that names the part and the first sample that differs.
void keep_sample_lists(const std::string& lists, const std::filesystem::path& run_folder);

/// The names of a part's samples in splits.json, in their order; none of a part that is not there.
/// Throws FileError.
std::vector<std::string> sample_list(const std::filesystem::path& run_folder, data::Split split);

}  // namespace fovea::training
