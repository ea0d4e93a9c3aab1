// Pictures with masks in a second folder, matched by name: the layouts of Kvasir-SEG and of the
// ISIC challenges, with lists of names for the splits. kcla 5.4.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <set>
#include <variant>

#include "base/error.h"
#include "data/images/label_values.h"
#include "data/images/mask_values.h"
#include "data/images/picture_notes.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"
#include "data/registry.h"
#include "data/sets/paired_options.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPairsReader = "paired_folder";
constexpr const char* kPairsPage = "datasets/paired_folder.md";

bool has_list(const fs::path& lists, const PairsOptions& o, Split split) {
  return !o.splits.empty() && has_list(lists, split);
}

PairFolders folders_of(const fs::path& root, Split split, const PairsOptions& o) {
  const auto part = [&](const char* train, const char* val, const char* test) {
    return split == Split::kTrain ? train : split == Split::kVal ? val : test;
  };
  switch (o.layout) {
    case PairLayout::kShared:
      return {root / o.images, root / o.masks, o.mask_suffix, std::ssize(o.channels)};
    case PairLayout::kBySplit:
      return {part_path(root, split) / o.images, part_path(root, split) / o.masks, o.mask_suffix,
              std::ssize(o.channels)};
    case PairLayout::kIsic2017: {
      const std::string name = part("Training", "Validation", "Test_v2");
      return {root / ("ISIC-2017_" + name + "_Data"),
              root / ("ISIC-2017_" + name + "_Part1_GroundTruth"), "_segmentation"};
    }
    case PairLayout::kIsic2018: {
      const std::string name = part("Training", "Validation", "Test");
      return {root / ("ISIC2018_Task1-2_" + name + "_Input"),
              root / ("ISIC2018_Task1_" + name + "_GroundTruth"), "_segmentation"};
    }
  }
  return {};
}

Exif exif_of(const PairsOptions& o) { return o.exif ? Exif::kApply : Exif::kIgnore; }

PairRule rule_of(const std::vector<ImagePair>& train, const PairsOptions& o) {
  std::vector<fs::path> masks;
  for (const ImagePair& pair : train) masks.push_back(pair.mask);
  if (o.mask_type == MaskType::kLabels) {
    std::optional<int> ignore;
    if (o.ignore_value) ignore = static_cast<int>(*o.ignore_value);
    const std::vector<int> values = o.label_values();
    return values.empty() ? LabelRule::found_in(masks, ignore) : LabelRule(values, ignore);
  }
  const auto given = MaskRule::given(o.mask_threshold, o.mask_values);
  return given ? *given : MaskRule::recognise(masks);
}

void describe_masks(const PairsOptions& o, const PairRule& rule, SourceInfo& info,
                    std::vector<std::string>& notes) {
  const auto* labels = std::get_if<LabelRule>(&rule);
  info.mask_resize = o.mask_resize;
  if (labels == nullptr) {
    info.masks = Masks::kSoft;
    info.class_names = {"foreground"};
    return;
  }
  info.masks = Masks::kLabels;
  info.background = o.background;
  info.label_values = labels->values();
  // What turning and shifting bring in from outside is black, which is the first class where
  // nothing says "ignore".
  info.no_label = labels->ignores() ? kIgnoreLabel : 0;
  info.class_names = o.classes;
  if (!o.classes.empty()) return;
  for (const int value : labels->values()) info.class_names.push_back(fmt::format("{}", value));
  if (o.mask_values.is_null()) {
    notes.push_back(fmt::format("{}: {} classes, the values of the masks of train: {}",
                                kPairsReader, labels->values().size(),
                                fmt::join(labels->values(), ", ")));
  }
}

void note_left_out(const std::vector<ImagePair>& pairs, std::vector<std::string>& notes) {
  std::set<fs::path> folders;
  for (const ImagePair& pair : pairs) {
    folders.insert({pair.image.parent_path(), pair.mask.parent_path()});
  }
  for (const fs::path& folder : folders) {
    LeftOut left_out;
    for (const auto& entry : sorted_entries(kPairsReader, folder)) left_out.add(entry.path());
    left_out.note(kPairsReader, folder, notes);
  }
}

// Every split takes its size from the first image of train that can be decoded.
void measure(const std::vector<ImagePair>& train, SourceInfo& info) {
  std::string first_error;
  for (const ImagePair& pair : train) {
    try {
      const Image image = read_picture(pair.image, info);
      info.height = image.height;
      info.width = image.width;
      return;
    } catch (const FileError& error) {  // reported when the sample itself is used
      if (first_error.empty()) first_error = error.what();
    }
  }
  throw FileError(first_error);
}

// Pairs of a part; nothing for a val or test part that is not there.
std::optional<std::vector<ImagePair>> pairs_of(const fs::path& root, Split split,
                                               const PairsOptions& o,
                                               std::vector<std::string>* notes = nullptr) {
  std::error_code code;
  const fs::path lists = root / o.splits;
  const std::vector<ImagePair> all =
      find_pairs(kPairsReader, kPairsPage, folders_of(root, Split::kTrain, o), notes);
  if (has_list(lists, o, Split::kTrain)) {
    if (split != Split::kTrain && !has_list(lists, o, split)) return std::nullopt;
    return listed_pairs(all, lists, split, kPairsPage);
  }
  for (const Split other : {Split::kVal, Split::kTest}) {
    FOVEA_CHECK(!has_list(lists, o, other), FileError,
                fmt::format("dataset.splits: {}: not found, but {}.txt is there; list the names of "
                            "train too; see {}",
                            (lists / "train.txt").string(), name_of(other), kPairsPage));
  }
  FOVEA_CHECK(o.layout != PairLayout::kShared || o.split.cuts_val() || o.split.cuts_test(),
              FileError,
              fmt::format("dataset.splits: {}: not found; list the names of each split there, or "
                          "set dataset.split.test; see {}",
                          (lists / "train.txt").string(), kPairsPage));
  if (split == Split::kTrain) return all;
  // A test part that is cut from the training part, as in the papers, replaces the other folders.
  if (o.layout == PairLayout::kShared || o.split.cuts_test()) return std::nullopt;
  const PairFolders folders = folders_of(root, split, o);
  if (!fs::is_directory(folders.images, code)) return std::nullopt;
  return find_pairs(kPairsReader, kPairsPage, folders, notes);
}

// `train` gives what all parts go by: the size, if none was given, and the rule of the masks.
std::unique_ptr<Source> open_paired_folder(const Place& place, const PairsOptions& o) {
  std::vector<std::string> notes;
  auto pairs = pairs_of(place.root, place.split, o, &notes);
  if (!pairs) return nullptr;
  const std::vector<ImagePair> train = *pairs_of(place.root, Split::kTrain, o);
  const bool patches = !o.patch_size.empty();
  PairReading how{rule_of(train, o), o.img_size == 0 && !patches, kPairsPage};
  how.spacing = o.spacing;
  SourceInfo info;
  info.channels = o.channel_count();
  info.channel_names = o.channels;
  info.exif = exif_of(o);
  describe_masks(o, how.rule, info, notes);
  if (o.intensity == PairIntensity::kMinMax255) {
    info.stretch = true;
    info.mean = {0.0};
    info.std = {1.0 / 255};
  } else {
    const bool colour = o.channels.empty() && o.in_chans == 3;
    info.mean = colour ? std::vector{0.485, 0.456, 0.406} : std::vector{0.449};
    info.std = colour ? std::vector{0.229, 0.224, 0.225} : std::vector{0.226};
  }
  info.height = info.width = o.img_size;
  if (patches) {
    info.patches = true;
    info.height = o.patch_size[0];
    info.width = o.patch_size[1];
    info.foreground = o.foreground;
    info.longest = o.longest;
  } else if (o.img_size == 0) {
    measure(train, info);
  }
  note_left_out(*pairs, notes);
  std::vector<fs::path> pictures;
  for (const ImagePair& pair : *pairs) pictures.push_back(pair.image);
  note_pictures(pictures,
                {kPairsReader, exif_of(o), info.stretch,
                 "dataset.intensity=min_max_255 stretches every image to its own range"},
                notes);
  return std::make_unique<PairedSource>(std::move(*pairs), std::move(info), std::move(how),
                                        std::move(notes));
}

}  // namespace

FOVEA_DATASET(paired_folder, open_paired_folder, "pictures with masks: images/<name>, masks/<name>",
              kPairsPage, paired_folder_fields())

}  // namespace fovea::data
