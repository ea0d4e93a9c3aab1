// Pictures and their masks in two folders, matched by name, and lists of names that choose from
// them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/parts/split.h"

namespace fovea::data {

struct ImagePair {
  std::filesystem::path image;  // of several channels the first one's file
  std::filesystem::path mask;
  std::string name = {};  // of the image without ending and channel; empty: without ending
};

/// Where images and masks lie.
struct PairFolders {
  std::filesystem::path images;
  std::filesystem::path masks;
  std::string mask_suffix;  // what a mask's name has after its image's
  /// Files of an image, which end in _0000, _0001, ... (or one with a page for each); 0: an image
  /// is one file, whose name may end in _0000 where that of its mask does not, as nnU-Net has them.
  std::int64_t channels = 0;
};

/// All pairs of two folders in byte order of the images' names. Throws FileError starting with
/// `reader` for an image without a mask, and for two images or two masks of one name; `page` ends
/// the message of a folder that is not there. `notes`, if given, are told of masks without an
/// image.
std::vector<ImagePair> find_pairs(const char* reader, const char* page, const PairFolders& folders,
                                  std::vector<std::string>* notes = nullptr);
/// Throws FileError for two pairs with one mask: they would lie in two parts with one truth.
void check_own_masks(const char* reader, const std::vector<ImagePair>& pairs);

/// <lists>/<split>.txt; val may be called valid or validation (folder.h).
std::filesystem::path list_file(const std::filesystem::path& lists, Split split);
/// The names in it, one a line, behind a byte order mark or not, without folder and ending if they
/// end as a picture does, and their lines. Throws FileError for a list that holds none or one
/// twice.
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
