// Inside of layouts.cpp and mask_layouts.cpp: a look at folders.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiment/planning/layouts.h"

namespace fovea::experiment {

/// What messages about folders begin with.
inline constexpr const char* kInit = "init";

bool is_folder(const std::filesystem::path& path);
/// Throws FileError, which says what was expected, unless a folder is there.
void check_there(const std::filesystem::path& root, const char* expected);
/// The folders in a folder.
std::vector<std::filesystem::path> folders_in(const std::filesystem::path& folder);

using IsFile = std::function<bool(const std::filesystem::path&)>;
/// The first file of a folder that is one, or nothing.
std::optional<std::filesystem::path> first_file(const std::filesystem::path& folder,
                                                const IsFile& is_one);

/// Parts of their own are kept, others are cut from train.
void choose_parts(bool has_val, bool has_test, FoundData& found);

/// The two folders of images and masks among those with usual names.
struct PairNames {
  std::string images, masks;
};
/// Throws FileError for two of one kind.
std::optional<PairNames> pair_in(const std::filesystem::path& folder);

}  // namespace fovea::experiment
