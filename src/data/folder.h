// Folders that hold one file a sample, by class: ROOT/<part>/<class>/<file> or
// ROOT/<class>/<file>.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/split.h"

namespace fovea::data {

/// Entries of a folder in byte order of their names, hidden ones left out, so that nothing depends
/// on the file system. Links are followed. `reader` starts the messages of FileErrors.
std::vector<std::filesystem::directory_entry> sorted_entries(const char* reader,
                                                             const std::filesystem::path& folder);

/// Throws FileError for a link that leads nowhere or in a circle.
std::filesystem::file_type type_of(const char* reader,
                                   const std::filesystem::directory_entry& entry);

/// Files named like an image, in the order of sorted_entries(); notes and thumbnail caches may lie
/// beside them. Throws FileError if there is none; `page` ends the message.
std::vector<std::filesystem::path> image_files(const char* reader,
                                               const std::filesystem::path& folder,
                                               const char* page);

/// Names of the folders in it. Throws FileError if there is none; `expected` and `page` end the
/// message.
std::vector<std::string> class_folders(const char* reader, const std::filesystem::path& folder,
                                       const char* expected, const char* page);

/// The folder with the class folders of a part: ROOT/train, ROOT/val, ROOT/test. Where there is
/// none of them, but other folders, ROOT itself is train, of which `dataset.split` must make the
/// parts. Nothing for a val or test that is not there. Throws FileError if there is no train,
/// ConfigError if a part must be made and the options make none.
std::optional<std::filesystem::path> part_folder(const std::filesystem::path& root, Split split,
                                                 const CutOptions& cut, const char* page);

/// Position of `name` in `known` (ascending). Throws FileError naming the folder if train has no
/// such class.
std::int64_t class_of(const char* reader, const std::filesystem::path& folder,
                      const std::string& name, const std::vector<std::string>& known);

}  // namespace fovea::data
