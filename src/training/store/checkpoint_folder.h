// The folder of one checkpoint: its state.json, the files that lists, and whether it is one of
// ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "schema/json/value.h"

namespace fovea::training {

inline constexpr const char* kStateFile = "state.json";
inline constexpr std::int64_t kCheckpointFormat = 1;

/// What a file of weights may have, in bytes.
inline constexpr std::uint64_t kMostWeightBytes = std::uint64_t{1} << 36;

/// "step-00001234".
std::string step_folder_name(std::int64_t step);
/// "step-" and digits.
bool is_step_name(const std::string& name);
/// The number of a folder of exactly the name that its step has; -1 of others.
std::int64_t step_of(const std::filesystem::path& folder);
/// Folders of steps, the newest first.
std::vector<std::filesystem::path> step_folders(const std::filesystem::path& checkpoints);
bool is_folder(const std::filesystem::path& path);

/// state.json carries its own hash: a flipped digit in it must not go unnoticed.
schema::Value with_hash(schema::Value record);
/// Throws FileError where it is missing or damaged.
schema::Value read_state(const std::filesystem::path& folder);
/// The content of a file that state.json lists, compared with its length and hash.
std::string read_listed(const std::filesystem::path& folder, const std::string& name,
                        const schema::Value& listed);
/// Throws FileError unless all of its files are there and as state.json says.
void verify_checkpoint(const std::filesystem::path& folder);
bool is_complete(const std::filesystem::path& folder);

/// The files that a checkpoint of a run has; `listed`: those that its state.json lists.
std::set<std::string> names_in_checkpoint(const schema::Value& listed);
/// Whether the folder is a checkpoint, or what is left of one that was cut short: it holds nothing
/// else, and is not the copy of another step. What is not may be somebody's own and stays.
bool is_own_folder(const std::filesystem::path& folder, const std::set<std::string>& names);
/// Removes a folder that is_own_folder; FileError for another.
void remove_own(const std::filesystem::path& folder, const std::set<std::string>& names);

}  // namespace fovea::training
