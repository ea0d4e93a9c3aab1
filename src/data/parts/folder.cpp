#include "data/parts/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/extension.h"
#include "base/suggest.h"
#include "data/files/pictures/image_file.h"

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

void LeftOut::add(const fs::path& file) {
  static const std::set<std::string> kPictures = {".avif", ".dcm", ".exr", ".gif",  ".hdr", ".heic",
                                                  ".heif", ".ico", ".j2k", ".jfif", ".jp2", ".jxl",
                                                  ".mha",  ".nii", ".npy", ".nrrd", ".pam", ".pbm",
                                                  ".pfm",  ".psd", ".ras", ".svg",  ".tga"};
  const std::string ending = lower_extension(file);
  if (kPictures.count(ending) > 0) ++endings_[ending];
}

std::string LeftOut::text() const {
  std::int64_t total = 0;
  std::string list;
  for (const auto& [ending, count] : endings_) {
    total += count;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", ending, count);
  }
  return fmt::format("{} {} left out: {}; convert {} to PNG", total, total == 1 ? "file" : "files",
                     list, total == 1 ? "it" : "them");
}

void LeftOut::note(const char* reader, const fs::path& folder,
                   std::vector<std::string>& notes) const {
  if (!empty()) notes.push_back(fmt::format("{}: {}: {}", reader, folder.string(), text()));
}

std::vector<fs::path> image_files(const char* reader, const fs::path& folder, const char* page,
                                  LeftOut* left_out) {
  std::vector<fs::path> files;
  LeftOut others;
  for (const auto& entry : sorted_entries(reader, folder)) {
    const bool is_image = has_image_extension(entry.path());
    if (is_image && type_of(reader, entry) == fs::file_type::regular) {
      files.push_back(entry.path());
    } else if (!is_image) {
      others.add(entry.path());
      if (left_out != nullptr) left_out->add(entry.path());
    }
  }
  FOVEA_CHECK(!files.empty(), FileError,
              fmt::format("{}: {}: holds no image; expected {} files{}; see {}", reader,
                          folder.string(), fmt::join(image_extensions(), ", "),
                          others.empty() ? "" : "; " + others.text(), page));
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

namespace {

std::vector<std::string> words_of(Split split) {
  if (split == Split::kVal) return {"val", "valid", "validation"};
  return {std::string(name_of(split))};
}

}  // namespace

fs::path part_path(const fs::path& folder, Split split, const std::string& ending) {
  std::error_code code;
  std::optional<fs::path> found;
  for (const std::string& word : words_of(split)) {
    const fs::path path = folder / (word + ending);
    if (!fs::exists(path, code)) continue;
    FOVEA_CHECK(!found, FileError,
                fmt::format("dataset: {} and {} are both there, and both are val; remove or rename "
                            "one of them",
                            found->string(), path.filename().string()));
    found = path;
  }
  return found.value_or(folder / (words_of(split).front() + ending));
}

std::vector<std::string> part_names(const std::string& folder, const std::string& ending) {
  std::vector<std::string> names;
  for (const Split split : {Split::kTrain, Split::kVal, Split::kTest}) {
    for (const std::string& word : words_of(split)) names.push_back(folder + "/" + word + ending);
  }
  return names;
}

std::optional<fs::path> part_folder(const fs::path& root, Split split, const CutOptions& cut,
                                    const char* page) {
  std::error_code code;
  const auto is_there = [&](Split s) { return fs::is_directory(part_path(root, s), code); };
  if (is_there(split)) return part_path(root, split);
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
              fmt::format("{}: {}: none of the classes trained on has this name{}", reader,
                          (folder / name).string(), did_you_mean(name, known)));
  return found - known.begin();
}

}  // namespace fovea::data
