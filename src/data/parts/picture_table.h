// Pictures and their classes in a table: a row for each picture, with its file, its class and, if
// there is such a column, the part that it belongs to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/parts/split.h"

namespace fovea::data {

struct PictureTableOptions {
  std::string table;  // file below root, "" for none; "{split}" in it: train, val, test
  std::string images;
  std::string file_column = "file";
  std::string label_column = "label";
  std::string split_column = "split";

  bool operator==(const PictureTableOptions&) const = default;
};

struct ListedPicture {
  std::filesystem::path file;
  std::string label;
  std::string place;  // "labels.csv:12"
  bool found = true;  // whether the file is there
};

/// The pictures of a part in the order of the rows; nothing for a val or test that no table and no
/// row is of. Columns are separated by tabs in files that end in .tsv, else by commas. A
/// split_column that is not there and is called "split" is none: all rows are train. A file without
/// an ending of a picture may have any. Throws FileError with the line for a column or a value that
/// is not there, an unknown part and a file that is listed twice.
std::optional<std::vector<ListedPicture>> listed_pictures(const std::filesystem::path& root,
                                                          Split split,
                                                          const PictureTableOptions& options);
/// The files that a table of this name may be, for lists_below().
std::vector<std::string> table_names(const std::string& table);

/// The labels, each once: numbers by their value where all are whole numbers, else in byte order.
std::vector<std::string> labels_in(const std::vector<ListedPicture>& pictures);

}  // namespace fovea::data
