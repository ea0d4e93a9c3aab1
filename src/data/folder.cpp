#include "data/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/suggest.h"
#include "data/image_file.h"

namespace fovea::data {

namespace fs = std::filesystem;

std::vector<fs::directory_entry> sorted_entries(const char* reader, const fs::path& folder) {
  std::error_code code;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator it(folder, code);
  for (; !code && it != fs::directory_iterator(); it.increment(code)) {
    if (it->path().filename().native().front() != '.') entries.push_back(*it);
  }
  FOVEA_CHECK(!code, FileError,
              fmt::format("{}: {}: cannot be listed: {}", reader, folder.string(), code.message()));
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.path().filename().native() < b.path().filename().native();
  });
  return entries;
}

fs::file_type type_of(const char* reader, const fs::directory_entry& entry) {
  std::error_code code;
  const fs::file_status status = entry.status(code);
  FOVEA_CHECK(status.type() != fs::file_type::not_found && status.type() != fs::file_type::none,
              FileError,
              fmt::format("{}: {}: is a link that leads nowhere: {}", reader, entry.path().string(),
                          code ? code.message() : "its target is missing"));
  return status.type();
}

std::vector<fs::path> image_files(const char* reader, const fs::path& folder, const char* page) {
  std::vector<fs::path> files;
  for (const auto& entry : sorted_entries(reader, folder)) {
    if (has_image_extension(entry.path()) && type_of(reader, entry) == fs::file_type::regular) {
      files.push_back(entry.path());
    }
  }
  FOVEA_CHECK(
      !files.empty(), FileError,
      fmt::format("{}: {}: holds no image; expected .png, .jpg, .jpeg, .bmp, .pgm, .ppm or .pnm "
                  "files; see {}",
                  reader, folder.string(), page));
  return files;
}

std::vector<std::string> class_folders(const char* reader, const fs::path& folder,
                                       const char* expected, const char* page) {
  std::vector<std::string> names;
  for (const auto& entry : sorted_entries(reader, folder)) {
    if (type_of(reader, entry) == fs::file_type::directory)
      names.push_back(entry.path().filename().string());
  }
  FOVEA_CHECK(!names.empty(), FileError,
              fmt::format("{}: {}: holds no class folder; expected {}; see {}", reader,
                          folder.string(), expected, page));
  return names;
}

std::optional<fs::path> part_folder(const fs::path& root, Split split, const CutOptions& cut,
                                    const char* page) {
  std::error_code code;
  const auto is_there = [&](Split s) { return fs::is_directory(root / name_of(s), code); };
  if (is_there(split)) return root / name_of(split);
  if (is_there(Split::kTrain)) return std::nullopt;
  const auto holds_folders = [&] {
    const auto entries = fs::directory_iterator(root, code);
    return std::any_of(begin(entries), end(entries),
                       [&](const auto& entry) { return entry.is_directory(code); });
  };
  FOVEA_CHECK(!is_there(Split::kVal) && !is_there(Split::kTest) && holds_folders(), FileError,
              fmt::format("dataset.root: {}: not found; see {}", (root / "train").string(), page));
  FOVEA_CHECK(cut.cuts_val() || cut.cuts_test(), ConfigError,
              fmt::format("dataset.split: {} has class folders, but no train and test; set for "
                          "example dataset.split.test=0.2 and dataset.split.val=0.1; see {}",
                          root.string(), page));
  if (split == Split::kTrain) return root;
  return std::nullopt;
}

std::int64_t class_of(const char* reader, const fs::path& folder, const std::string& name,
                      const std::vector<std::string>& known) {
  const auto found = std::lower_bound(known.begin(), known.end(), name);
  FOVEA_CHECK(found != known.end() && *found == name, FileError,
              fmt::format("{}: {}: train has no class of this name{}", reader,
                          (folder / name).string(), did_you_mean(name, known)));
  return found - known.begin();
}

}  // namespace fovea::data
