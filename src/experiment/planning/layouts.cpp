#include "experiment/planning/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "data/files/nifti.h"
#include "data/files/pictures/image_file.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"
#include "experiment/planning/layout_search.h"
#include "experiment/planning/table_columns.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using data::Split;
using schema::Value;

bool is_text_file(const fs::path& file) {
  const std::string ending = file.extension().string();
  return !data::has_image_extension(file) && !data::has_nifti_extension(file) &&
         (ending.empty() || ending == ".txt" || ending == ".text" || ending == ".md");
}

// ROOT/train/CLASS/FILE or ROOT/CLASS/FILE. `what`: "pictures"; `hint`: of another command.
FoundData class_folders(const fs::path& root, const char* type, const char* what,
                        const IsFile& is_one) {
  const std::string expected = fmt::format(
      "folders of classes with {}: FOLDER/train/CLASS/FILE (val and test beside it) or "
      "FOLDER/CLASS/FILE",
      what);
  check_there(root, expected.c_str());
  const bool parts = is_folder(root / "train");
  const fs::path train = parts ? root / "train" : root;
  std::vector<fs::path> classes, others;
  std::optional<fs::path> example;
  for (const fs::path& folder : folders_in(train)) {
    const auto file = first_file(folder, is_one);
    (file ? classes : others).push_back(folder);
    if (file && !example) example = file;
  }
  FOVEA_CHECK(classes.size() >= 2, FileError,
              fmt::format("{}: {} folder{} with {}; expected {}", train.string(), classes.size(),
                          classes.size() == 1 ? "" : "s", what, expected));
  FOVEA_CHECK(others.empty(), FileError,
              fmt::format("{}: holds no {}, unlike {}; remove it, or give the folder above the "
                          "classes",
                          others.empty() ? "" : others.front().string(), what,
                          classes.front().filename().string()));
  FoundData found{Value::object({{"type", type}, {"root", root.string()}}), {}, *example};
  const auto has = [&](Split split) { return parts && is_folder(data::part_path(root, split)); };
  if (has(Split::kTest)) found.example = data::part_path(root, Split::kTest);
  choose_parts(has(Split::kVal), has(Split::kTest), found);
  return found;
}

}  // namespace

FoundData find_volumes(const fs::path& root) {
  constexpr const char* kExpected =
      "nnU-Net's folders: FOLDER/dataset.json, FOLDER/imagesTr/NAME_0000.nii.gz, "
      "FOLDER/labelsTr/NAME.nii.gz";
  constexpr std::size_t kFolds = 5;
  check_there(root, kExpected);
  std::error_code code;
  for (const char* part : {"dataset.json", "imagesTr", "labelsTr"}) {
    FOVEA_CHECK(fs::exists(root / part, code), FileError,
                fmt::format("{}: not found; expected {}", (root / part).string(), kExpected));
  }
  std::size_t cases = 0;
  for (const auto& entry : data::sorted_entries(kInit, root / "labelsTr"))
    cases += data::has_nifti_extension(entry.path()) ? 1 : 0;
  FOVEA_CHECK(cases >= 2, FileError,
              fmt::format("{}: {} volumes; expected 2 or more, .nii or .nii.gz",
                          (root / "labelsTr").string(), cases));
  FoundData found{
      Value::object({{"type", "nnunet"}, {"root", root.string()}}), {}, root / "imagesTr"};
  const fs::path lists = root / "splits";
  if (is_folder(lists) && data::has_list(lists, Split::kTrain)) {
    found.dataset.set("parts", "lists");
    found.remarks.push_back("The lists in splits/ say which volumes are train, val and test.");
    choose_parts(data::has_list(lists, Split::kVal), data::has_list(lists, Split::kTest), found);
    return found;
  }
  const bool has_test = is_folder(root / "labelsTs") && is_folder(root / "imagesTs");
  if (is_folder(root / "imagesTs")) found.example = root / "imagesTs";
  const std::size_t folds = std::min(cases, kFolds);
  found.dataset.set("split", Value::object({{"fold", fmt::format("0/{}", folds)}}));
  found.remarks.push_back(fmt::format(
      "val is the first of {} folds as nnU-Net draws them{}; fovea ablate --folds {} trains all.",
      folds, has_test ? ", test is imagesTs with labelsTs" : "", folds));
  return found;
}

FoundData find_images(const fs::path& root) {
  if (is_folder(root) && pair_in(root))
    throw FileError(fmt::format(
        "{}: holds images and masks; expected folders of classes; try fovea init masks {}",
        root.string(), root.string()));
  return class_folders(root, "image_folder", "pictures", data::has_image_extension);
}

FoundData find_texts(const fs::path& root) {
  constexpr const char* kExpected =
      "a table FILE.csv or FILE.tsv, a folder with one or with train.csv (val.csv, test.csv), or "
      "folders of classes with a text a file";
  std::error_code code;
  FOVEA_CHECK(fs::exists(root, code), FileError,
              fmt::format("{}: not found; expected {}", root.string(), kExpected));
  std::vector<fs::path> tables;
  fs::path folder = root;
  if (is_folder(root)) {
    for (const auto& entry : data::sorted_entries(kInit, root)) {
      if (!is_folder(entry.path()) && is_table(entry.path())) tables.push_back(entry.path());
    }
    if (tables.empty()) return class_folders(root, "text_folder", "texts", is_text_file);
  } else {
    FOVEA_CHECK(is_table(root), FileError,
                fmt::format("{}: is no table; expected {}", root.string(), kExpected));
    tables = {root};
    folder = root.has_parent_path() ? root.parent_path() : fs::path(".");
  }
  const auto called = [&](const std::vector<std::string>& stems) -> std::optional<fs::path> {
    for (const fs::path& table : tables) {
      if (std::ranges::find(stems, table.stem().string()) != stems.end()) return table;
    }
    return std::nullopt;
  };
  const auto train = called({"train"});
  FOVEA_CHECK(train || tables.size() == 1, FileError,
              fmt::format("{}: {} tables and none called train; give one of them: fovea init texts "
                          "{}",
                          root.string(), tables.size(), tables.front().string()));
  const fs::path table = train.value_or(tables.front());
  FoundData found{Value::object({{"type", "text_csv"}, {"root", folder.string()}}), {}, {}};
  if (table.filename() != "train.csv") found.dataset.set("train_file", table.filename().string());
  std::optional<fs::path> val, test;
  if (train) {
    val = called({"val", "valid", "validation"});
    test = called({"test"});
    if (val && val->filename() != "val.csv")
      found.dataset.set("val_file", val->filename().string());
    if (test && test->filename() != "test.csv")
      found.dataset.set("test_file", test->filename().string());
  }
  const TableColumns columns = find_columns(table);
  for (const auto& member : columns.settings.members()) found.dataset.set(member.key, member.value);
  found.remarks.push_back(columns.remark);
  choose_parts(val.has_value(), test.has_value(), found);
  return found;
}

}  // namespace fovea::experiment
