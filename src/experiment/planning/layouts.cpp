#include "experiment/planning/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "data/files/nifti.h"
#include "data/files/pictures/image_file.h"
#include "data/images/mask_values.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"
#include "experiment/planning/table_columns.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using data::Split;
using schema::Value;

constexpr const char* kInit = "init";

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

using IsFile = std::function<bool(const fs::path&)>;
// The first file of a folder that is one, or nothing.
std::optional<fs::path> first_file(const fs::path& folder, const IsFile& is_one) {
  for (const auto& entry : data::sorted_entries(kInit, folder)) {
    if (!is_folder(entry.path()) && is_one(entry.path())) return entry.path();
  }
  return std::nullopt;
}

bool is_text_file(const fs::path& file) {
  const std::string ending = file.extension().string();
  return !data::has_image_extension(file) && !data::has_nifti_extension(file) &&
         (ending.empty() || ending == ".txt" || ending == ".text" || ending == ".md");
}

// Parts of their own are kept, others are cut from train.
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

struct PairNames {
  std::string images, masks;
};

// The two folders among those that are usual.
std::optional<PairNames> pair_in(const fs::path& folder) {
  const std::vector<std::string> images = {"images", "imgs", "image", "img"};
  const std::vector<std::string> masks = {"masks",       "mask", "labels",       "label",
                                          "annotations", "gt",   "segmentations"};
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

// What masks are called behind the names of their images: "" for the same name.
std::string suffix_of(const fs::path& images, const fs::path& masks) {
  const auto image = first_file(images, data::has_image_extension);
  FOVEA_CHECK(image, FileError, fmt::format("{}: holds no picture", images.string()));
  const std::string stem = image->stem().string();
  std::string suffix;
  for (const auto& entry : data::sorted_entries(kInit, masks)) {
    const std::string name = entry.path().stem().string();
    if (name == stem) return "";
    if (suffix.empty() && name.starts_with(stem)) suffix = name.substr(stem.size());
  }
  FOVEA_CHECK(!suffix.empty(), FileError,
              fmt::format("{}: no mask of {}; expected {}.png or a name that begins so",
                          masks.string(), image->string(), stem));
  return suffix;
}

// Evenly spread over the list.
std::vector<fs::path> spread(const std::vector<fs::path>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<fs::path> some;
  for (std::size_t k = 0; k < most; ++k) some.push_back(all[k * all.size() / most]);
  return some;
}

// One foreground or label maps, by the values in some masks.
void choose_mask_type(const fs::path& masks, FoundData& found) {
  constexpr std::size_t kLookedAt = 200;
  constexpr std::size_t kMostClasses = 256;
  constexpr int kIgnore = 255;
  const std::vector<fs::path> files =
      spread(data::image_files(kInit, masks, "datasets/paired_folder.md"), kLookedAt);
  try {
    const auto rule = data::MaskRule::recognise(files);
    found.remarks.push_back(fmt::format("Masks have one foreground: {}.", rule.text()));
    return;
  } catch (const ConfigError&) {  // neither 0 and 1 nor 0 and white
  }
  data::MaskValues seen;
  for (const fs::path& file : files)
    seen.add(data::read_mask_file(file, data::MaskPixels::kStored));
  const std::size_t values = seen.pixels().size();
  FOVEA_CHECK(
      !seen.lossy() && values <= kMostClasses, FileError,
      fmt::format("{}: the masks hold {}; expected 0 and 255, 0 and 1, or a number for each "
                  "class in files that keep exact values (PNG); see datasets/paired_folder.md",
                  masks.string(), seen.lossy() ? "JPEG noise" : fmt::format("{} values", values)));
  found.dataset.set("mask_type", "labels");
  const bool ignores = values > 2 && seen.pixels().contains(kIgnore) &&
                       std::prev(seen.pixels().end(), 2)->first < kIgnore - 1;
  if (ignores) found.dataset.set("ignore_value", kIgnore);
  found.remarks.push_back(
      fmt::format("Masks have {} values, each of them a class{}; \"classes\": [...] names them.",
                  values, ignores ? ", but for 255, which is of no class" : ""));
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

FoundData find_masks(const fs::path& root) {
  constexpr const char* kExpected =
      "FOLDER/images and FOLDER/masks with pictures of the same names, or FOLDER/train/images and "
      "FOLDER/train/masks";
  check_there(root, kExpected);
  FoundData found{Value::object({{"type", "paired_folder"}, {"root", root.string()}}), {}, {}};
  fs::path train = root;
  std::optional<PairNames> pair = pair_in(root);
  bool has_val = false, has_test = false;
  if (!pair && is_folder(root / "train")) {
    train = root / "train";
    pair = pair_in(train);
    found.dataset.set("layout", "by_split");
    has_val = is_folder(data::part_path(root, Split::kVal));
    has_test = is_folder(data::part_path(root, Split::kTest));
  } else if (is_folder(root / "splits") && data::has_list(root / "splits", Split::kTrain)) {
    has_val = data::has_list(root / "splits", Split::kVal);
    has_test = data::has_list(root / "splits", Split::kTest);
    found.remarks.push_back("The lists in splits/ say which images are train, val and test.");
  }
  FOVEA_CHECK(pair, FileError,
              fmt::format("{}: no images with masks; expected {}", root.string(), kExpected));
  if (pair->images != "images") found.dataset.set("images", pair->images);
  if (pair->masks != "masks") found.dataset.set("masks", pair->masks);
  const std::string suffix = suffix_of(train / pair->images, train / pair->masks);
  if (!suffix.empty()) found.dataset.set("mask_suffix", suffix);
  choose_mask_type(train / pair->masks, found);
  choose_parts(has_val, has_test, found);
  found.example =
      (has_test && train != root ? data::part_path(root, Split::kTest) : train) / pair->images;
  return found;
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
