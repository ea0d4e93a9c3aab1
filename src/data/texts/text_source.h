// What a reader of one kind of data set of texts provides. A new one is a source file with a
// function Place, options -> TextSource, and one line in datasets.def.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/files/text_decode.h"
#include "data/parts/split.h"

namespace fovea::data {

struct Document {
  std::string text;  // UTF-8
  std::int64_t label = 0;
  std::string name;  // file, or file and line, for messages and reports
};

/// The texts of one part of a data set, in the order of its files.
struct TextSource {
  std::vector<std::string> class_names;
  std::vector<Document> documents;
  std::vector<std::filesystem::path> files;  // that the documents come from
};

/// Content of a text file as UTF-8. Throws FileError "dataset.root: PATH: not found; see PAGE", and
/// for a file of more than 2 GiB.
std::string read_text_file(const std::filesystem::path& path, TextEncoding encoding,
                           const char* page);

/// <folder>/<class>/<file>: one text a file, classes those of `class_names` (ascending; empty: the
/// folders there), files by number where their names are numbers, else in byte order. Other class
/// folders are errors if `strict`, else left out. `reader` starts the messages.
TextSource read_text_folder(const char* reader, const std::filesystem::path& folder,
                            std::vector<std::string> class_names, bool strict,
                            TextEncoding encoding, const char* page);

}  // namespace fovea::data
