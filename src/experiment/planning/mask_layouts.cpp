// Folders of images with masks: their names, channels, and what the masks hold.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "data/given/channel_files.h"
#include "data/images/mask_values.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"
#include "experiment/planning/layout_search.h"
#include "schema/json/parse.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using data::Split;
using schema::Value;

// What masks are called behind the names of their images, `stem` being the first's: "" for the same
// name.
std::string suffix_of(const std::string& stem, const fs::path& image, const fs::path& masks) {
  std::string suffix;
  for (const auto& entry : data::sorted_entries(kInit, masks)) {
    const std::string name = entry.path().stem().string();
    if (name == stem) return "";
    if (suffix.empty() && name.starts_with(stem)) suffix = name.substr(stem.size());
  }
  FOVEA_CHECK(!suffix.empty(), FileError,
              fmt::format("{}: no mask of {}; expected {}.png or a name that begins so",
                          masks.string(), image.string(), stem));
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

// Names in nnU-Net's dataset.json, or numbers.
std::vector<std::string> channel_names(const fs::path& root, std::int64_t channels) {
  std::vector<std::string> names;
  std::error_code code;
  const fs::path file = root / "dataset.json";
  if (fs::exists(file, code)) {
    const Value json = schema::parse(io::read_text(file), file.string());
    const Value* given = json.find("channel_names");
    if (given == nullptr) given = json.find("modality");
    for (std::int64_t c = 0; given != nullptr && given->is_object() && c < channels; ++c) {
      const Value* name = given->find(std::to_string(c));
      if (name != nullptr && name->is_string()) names.push_back(name->as_string());
    }
  }
  if (std::ssize(names) == channels) return names;
  names.clear();
  for (std::int64_t c = 0; c < channels; ++c) names.push_back(std::to_string(c));
  return names;
}

// Channels of the first image that lie in files of their own, NAME_0000, NAME_0001, ..., are those
// of all. (Frames that are numbered so have masks of their own.) Returns its name.
std::string choose_channels(const fs::path& root, const fs::path& image, const fs::path& masks,
                            FoundData& found) {
  const std::string stem = image.stem().string();
  const auto [name, channel] = data::numbered_name(stem);
  const auto own_mask = first_file(
      masks, [&](const fs::path& mask) { return mask.stem().string().starts_with(stem); });
  if (channel != 0 || own_mask) return stem;
  std::int64_t channels = 0;
  std::error_code code;
  while (fs::exists(
      image.parent_path() / fmt::format("{}_{:04}{}", name, channels, image.extension().string()),
      code))
    ++channels;
  if (channels < 2) return name;  // one file, grey or in colour
  const std::vector<std::string> names = channel_names(root, channels);
  found.dataset.set("channels", Value::array(names));
  found.remarks.push_back(fmt::format("Images have {} channels, a file for each: {}.", channels,
                                      fmt::join(names, ", ")));
  return name;
}

}  // namespace

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
  const auto image = first_file(train / pair->images, data::has_image_extension);
  FOVEA_CHECK(image, FileError,
              fmt::format("{}: holds no picture", (train / pair->images).string()));
  const std::string stem = choose_channels(root, *image, train / pair->masks, found);
  const std::string suffix = suffix_of(stem, *image, train / pair->masks);
  if (!suffix.empty()) found.dataset.set("mask_suffix", suffix);
  choose_mask_type(train / pair->masks, found);
  choose_parts(has_val, has_test, found);
  found.example =
      (has_test && train != root ? data::part_path(root, Split::kTest) : train) / pair->images;
  return found;
}

}  // namespace fovea::experiment
