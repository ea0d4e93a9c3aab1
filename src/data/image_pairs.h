// Pictures and their masks in two folders, matched by name, and lists of names that choose from
// them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/split.h"

namespace fovea::data {

struct ImagePair {
  std::filesystem::path image;
  std::filesystem::path mask;
};

/// Where images and masks lie.
struct PairFolders {
  std::filesystem::path images;
  std::filesystem::path masks;
  std::string mask_suffix;  // what a mask's name has after its image's
};

/// All pairs of two folders in byte order of the images' names. Throws FileError starting with
/// `reader` for an image without a mask; `page` ends the message of a folder that is not there.
std::vector<ImagePair> find_pairs(const char* reader, const char* page, const PairFolders& folders);

/// <lists>/<split>.txt.
std::filesystem::path list_file(const std::filesystem::path& lists, Split split);
/// The names in it, one a line, without folder and ending if they end as a picture does, and their
/// lines. Throws FileError for a list that holds none or one twice.
std::map<std::string, int> names_in_list(const std::filesystem::path& lists, Split split);
std::map<std::string, int> names_in_list(const std::filesystem::path& file);
/// Whether <lists>/<split>.txt is there.
bool has_list(const std::filesystem::path& lists, Split split);

/// The pairs that <lists>/<split>.txt names, one a line, with or without ending. A name may be in
/// one list only. Throws FileError with the line.
std::vector<ImagePair> listed_pairs(const std::vector<ImagePair>& all,
                                    const std::filesystem::path& lists, Split split,
                                    const char* page);

}  // namespace fovea::data
