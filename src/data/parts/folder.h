// Folders that hold one file a sample, by class: ROOT/<part>/<class>/<file> or
// ROOT/<class>/<file>.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/parts/split.h"

namespace fovea::data {

/// Entries of a folder in byte order of their names, hidden ones left out, so that nothing depends
/// on the file system. Links are followed. `reader` starts the messages of FileErrors.
std::vector<std::filesystem::directory_entry> sorted_entries(const char* reader,
                                                             const std::filesystem::path& folder);

/// Throws FileError for a link that leads nowhere or in a circle.
std::filesystem::file_type type_of(const char* reader,
                                   const std::filesystem::directory_entry& entry);

/// Pictures in formats that are not read, by their endings.
class LeftOut {
 public:
  /// Counts a file with the ending of such a picture. Other files, such as notes or thumbnail
  /// caches, do not count.
  void add(const std::filesystem::path& file);
  bool empty() const { return endings_.empty(); }
  /// "12 files left out: .heic 10, .gif 2; convert them to PNG".
  std::string text() const;
  /// Adds "<reader>: <folder>: <text()>" to the notes of a data set, if there are any.
  void note(const char* reader, const std::filesystem::path& folder,
            std::vector<std::string>& notes) const;

 private:
  std::map<std::string, std::int64_t> endings_;
};

/// Files named like an image, in the order of sorted_entries(); others may lie beside them, those
/// in other formats are counted. Throws FileError if there is none; `page` ends the message.
std::vector<std::filesystem::path> image_files(const char* reader,
                                               const std::filesystem::path& folder,
                                               const char* page, LeftOut* left_out = nullptr);

/// Names of the folders in it. Throws FileError if there is none; `expected` and `page` end the
/// message.
std::vector<std::string> class_folders(const char* reader, const std::filesystem::path& folder,
                                       const char* expected, const char* page);

/// The file or folder of a part: <folder>/train, val or test with `ending`; val may be called valid
/// or validation. Where none is there, that of the first name. Throws FileError for two of them.
std::filesystem::path part_path(const std::filesystem::path& folder, Split split,
                                const std::string& ending = "");
/// The names of a part's files in `folder` by which it may be called, for lists_below().
std::vector<std::string> part_names(const std::string& folder, const std::string& ending);

/// The folder with the class folders of a part: ROOT/train, ROOT/val, ROOT/test. Where there is
/// none of them, but other folders, ROOT itself is train, of which `dataset.split` must make the
/// parts. Nothing for a val or test that is not there. Throws FileError if there is no train,
/// ConfigError if a part must be made and the options make none.
std::optional<std::filesystem::path> part_folder(const std::filesystem::path& root, Split split,
                                                 const CutOptions& cut, const char* page);

/// Position of `name` in `known` (ascending). Throws FileError naming the folder if there is no
/// such class.
std::int64_t class_of(const char* reader, const std::filesystem::path& folder,
                      const std::string& name, const std::vector<std::string>& known);

}  // namespace fovea::data
