#include "experiment/planning/layout_search.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "data/parts/folder.h"

namespace fovea::experiment {

namespace fs = std::filesystem;
using schema::Value;

bool is_folder(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

void check_there(const fs::path& root, const char* expected) {
  std::error_code code;
  FOVEA_CHECK(fs::exists(root, code), FileError,
              fmt::format("{}: not found; expected {}", root.string(), expected));
  FOVEA_CHECK(is_folder(root), FileError,
              fmt::format("{}: is a file; expected {}", root.string(), expected));
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : data::sorted_entries(kInit, folder)) {
    if (is_folder(entry.path())) found.push_back(entry.path());
  }
  return found;
}

std::optional<fs::path> first_file(const fs::path& folder, const IsFile& is_one) {
  for (const auto& entry : data::sorted_entries(kInit, folder)) {
    if (!is_folder(entry.path()) && is_one(entry.path())) return entry.path();
  }
  return std::nullopt;
}

void choose_parts(bool has_val, bool has_test, FoundData& found) {
  constexpr double kShare = 0.1;
  if (has_val && has_test) return;
  Value split = Value::object();
  // A val of its own without a test is how ImageNet comes: results are then those of val.
  if (has_val) {
    found.remarks.push_back("There is no test part: results are those of val.");
    return;
  }
  split.set("val", kShare);
  if (!has_test) split.set("test", kShare);
  found.dataset.set("split", split);
  found.remarks.push_back(
      has_test ? "A tenth of train is val, by which the best weights are chosen."
               : "A tenth of the samples is val, by which the best weights are chosen, and a tenth "
                 "is test, which is reported.");
}

std::optional<PairNames> pair_in(const fs::path& folder) {
  const std::vector<std::string> images = {"images", "imgs", "image", "img", "imagesTr"};
  const std::vector<std::string> masks = {"masks",       "mask", "labels",        "label",
                                          "annotations", "gt",   "segmentations", "labelsTr"};
  const auto first = [&](const std::vector<std::string>& names) {
    std::string found;
    for (const std::string& name : names) {
      if (!is_folder(folder / name)) continue;
      FOVEA_CHECK(found.empty(), FileError,
                  fmt::format("{}: {} and {} are both there; expected one of them", folder.string(),
                              found, name));
      found = name;
    }
    return found;
  };
  const PairNames pair{first(images), first(masks)};
  if (pair.images.empty() || pair.masks.empty()) return std::nullopt;
  return pair;
}

}  // namespace fovea::experiment
