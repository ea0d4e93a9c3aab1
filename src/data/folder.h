// Listing folders of pictures in an order that does not depend on the file system.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fovea::data {

/// Who lists, for messages: the data set's name and its page.
struct FolderReader {
  std::string name;
  std::string page;
};

/// Entries of a folder in byte order of their names, hidden ones left out. Throws FileError if it
/// cannot be listed.
std::vector<std::filesystem::directory_entry> sorted_entries(const std::filesystem::path& folder,
                                                             const FolderReader& reader);
/// The type behind links. Throws FileError for a link that leads nowhere or in a circle.
std::filesystem::file_type type_of(const std::filesystem::directory_entry& entry,
                                   const FolderReader& reader);
/// Files named like an image; notes and thumbnail caches may lie beside them. Throws FileError if
/// there is none.
std::vector<std::filesystem::path> image_files(const std::filesystem::path& folder,
                                               const FolderReader& reader);

}  // namespace fovea::data
