// Which samples of a data set belong to which part: by the lists of its paper, by lists below root,
// or by dataset.split alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/parts/split.h"

namespace fovea::data {

enum class PartsFrom { kPaper, kLists, kAll };

/// How a data set is divided where no list is published.
struct DrawnShares {
  double val = 0, test = 0;
};

struct PartRule {
  std::string set;  // "ph2": of published_parts.def
  PartsFrom from = PartsFrom::kPaper;
  std::filesystem::path lists;  // the folder of train.txt, val.txt, test.txt
  /// Shares of the names in no published list, where train has no list. Names are sorted and drawn
  /// by a fixed seed, so that equal copies are divided equally.
  DrawnShares drawn;
};

/// Places in `ids` (the names as the lists have them, ascending; one may be there more than once)
/// that belong to a part; ascending. Adds to `notes` how many listed names have no files. Nothing
/// for a val or test part that no list names. Throws FileError for lists below root that are
/// missing, or name what is not there or in two lists.
std::vector<std::int64_t> places_of_part(const PartRule& rule, Split split,
                                         const std::vector<std::string>& ids,
                                         std::vector<std::string>& notes);

/// The lists that a data set with these resolved options reads, for Fields::names_files of `parts`.
std::vector<std::filesystem::path> part_lists(const schema::Value& options);

/// The word of `from` in experiment files and its help.
std::vector<std::pair<std::string, PartsFrom>> parts_from_words();
inline constexpr const char* kPartsFromHelp =
    "paper: the lists of the paper, or a draw of its shares where it has none; lists: "
    "ROOT/splits/train.txt, val.txt, test.txt; all: everything is train, for dataset.split";

}  // namespace fovea::data
