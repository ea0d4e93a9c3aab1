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
#include "data/images/paired_source.h"
#include "data/images/picture_notes.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPairsReader = "paired_folder";
constexpr const char* kPairsPage = "datasets/paired_folder.md";

enum class PairLayout { kShared, kBySplit, kIsic2017, kIsic2018 };
enum class PairIntensity { kUnit, kMinMax255 };

struct PairsOptions : ImageOptions {
  static constexpr Kind kKind = Kind::kMaskedImages;
  static Kind kind_of(const schema::Value& options);
  PairLayout layout = PairLayout::kShared;
  std::string images = "images";
  std::string masks = "masks";
  std::string mask_suffix;
  std::string splits = "splits";
  std::int64_t img_size = 0;
  std::vector<std::int64_t> patch_size;
  double foreground = 0.33;
  std::int64_t longest = 0;
  std::vector<double> spacing;
  std::int64_t in_chans = 3;
  MaskType mask_type = MaskType::kForeground;
  std::optional<std::int64_t> mask_threshold;
  schema::Value mask_values;
  std::vector<std::string> classes;
  bool background = true;
  std::optional<std::int64_t> ignore_value;
  Resampling mask_resize = Resampling::kNearest;
  PairIntensity intensity = PairIntensity::kUnit;
  bool exif = false;
  bool lists_test() const;
  std::optional<SampleShape> sample_shape() const;
  /// Values of the classes that the options name; empty: those found in train.
  std::vector<int> label_values() const;
};

Kind PairsOptions::kind_of(const schema::Value& options) {
  return kind_by_mask_type(options, MaskType::kForeground);
}

std::vector<int> PairsOptions::label_values() const {
  std::vector<int> values;
  if (mask_values.is_null()) {
    for (std::size_t c = 0; c < classes.size(); ++c) values.push_back(static_cast<int>(c));
    return values;
  }
  for (const schema::Value& value : mask_values.items())
    values.push_back(static_cast<int>(value.as_int()));
  return values;
}

std::optional<SampleShape> PairsOptions::sample_shape() const {
  const bool labels = mask_type == MaskType::kLabels;
  const std::int64_t count = labels ? std::ssize(label_values()) : 1;
  const bool patches = !patch_size.empty();
  if ((img_size == 0 && !patches) || count == 0) return std::nullopt;
  return SampleShape{.channels = in_chans,
                     .height = patches ? patch_size[0] : img_size,
                     .width = patches ? patch_size[1] : img_size,
                     .classes = count,
                     .label_maps = labels};
}

// What is wrong with the keys of sizes, or "".
std::string size_complaint(const PairsOptions& o) {
  if (!o.spacing.empty() && o.spacing.size() != 2)
    return fmt::format("spacing has {} numbers; expected 2 (height, width), or none",
                       o.spacing.size());
  if (o.patch_size.empty()) {
    return o.longest == 0 ? ""
                          : "longest is given without patch_size; pictures that are not cut into "
                            "patches are resized to img_size";
  }
  if (o.patch_size.size() != 2)
    return fmt::format("patch_size has {} numbers; expected 2 (height, width), or none",
                       o.patch_size.size());
  if (o.img_size > 0)
    return "img_size and patch_size are both given; pictures are resized to the one, or patches of "
           "the other are cut from them";
  return "";
}

// What is wrong with the keys of masks, or "".
std::string complaint(const PairsOptions& o) {
  if (std::string wrong = MaskRule::complaint(o.mask_threshold, o.mask_values); !wrong.empty())
    return wrong;
  if (o.mask_type == MaskType::kForeground) {
    return o.classes.empty() && !o.ignore_value && o.background
               ? ""
               : "classes, background and ignore_value belong to maps of labels; set mask_type to "
                 "\"labels\"";
  }
  if (o.mask_threshold) return "mask_threshold is given, but maps of labels have no grey values";
  if (o.mask_resize != Resampling::kNearest)
    return "mask_resize is bilinear, but there is nothing between two labels; expected nearest";
  if (o.mask_values.is_string())
    return "mask_values is \"nonzero\"; of maps of labels expected the values of the classes";
  const std::vector<int> values = o.label_values();
  std::set<int> distinct(values.begin(), values.end());
  if (!values.empty() && (distinct.size() < 2 || distinct.size() < values.size()))
    return "maps of labels need two classes or more, each with a value of its own";
  if (!o.classes.empty() && o.classes.size() != values.size())
    return fmt::format("{} classes, but mask_values has {}", o.classes.size(), values.size());
  if (o.ignore_value && distinct.count(static_cast<int>(*o.ignore_value)) > 0)
    return fmt::format("ignore_value is {}, which is also the value of a class", *o.ignore_value);
  return "";
}

bool has_list(const fs::path& lists, const PairsOptions& o, Split split) {
  return !o.splits.empty() && has_list(lists, split);
}

bool PairsOptions::lists_test() const {
  const fs::path lists = fs::path(root) / splits;
  return has_list(lists, *this, Split::kTrain) && has_list(lists, *this, Split::kTest);
}

PairFolders folders_of(const fs::path& root, Split split, const PairsOptions& o) {
  const auto part = [&](const char* train, const char* val, const char* test) {
    return split == Split::kTrain ? train : split == Split::kVal ? val : test;
  };
  switch (o.layout) {
    case PairLayout::kShared:
      return {root / o.images, root / o.masks, o.mask_suffix};
    case PairLayout::kBySplit:
      return {part_path(root, split) / o.images, part_path(root, split) / o.masks, o.mask_suffix};
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
void measure(const std::vector<ImagePair>& train, const PairsOptions& o, SourceInfo& info) {
  std::string first_error;
  for (const ImagePair& pair : train) {
    try {
      const Image image = read_image(pair.image, info.channels, exif_of(o));
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
  info.channels = o.in_chans;
  info.exif = exif_of(o);
  describe_masks(o, how.rule, info, notes);
  if (o.intensity == PairIntensity::kMinMax255) {
    info.stretch = true;
    info.mean = {0.0};
    info.std = {1.0 / 255};
  } else {
    info.mean = o.in_chans == 1 ? std::vector{0.449} : std::vector{0.485, 0.456, 0.406};
    info.std = o.in_chans == 1 ? std::vector{0.226} : std::vector{0.229, 0.224, 0.225};
  }
  info.height = info.width = o.img_size;
  if (patches) {
    info.patches = true;
    info.height = o.patch_size[0];
    info.width = o.patch_size[1];
    info.foreground = o.foreground;
    info.longest = o.longest;
  } else if (o.img_size == 0) {
    measure(train, o, info);
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

schema::Fields<PairsOptions> paired_folder_fields() {
  using O = PairsOptions;
  return schema::Fields<O>{}
      .add_enum("layout", &O::layout,
                {{"shared", PairLayout::kShared},
                 {"by_split", PairLayout::kBySplit},
                 {"isic2017", PairLayout::kIsic2017},
                 {"isic2018", PairLayout::kIsic2018}},
                "shared: images/ and masks/, as Kvasir-SEG; by_split: train/images, train/masks, "
                "val/..., test/...; isic2017, isic2018: the folders of the challenges")
      .add("images", &O::images, "folder of the images in the first two layouts")
      .add("masks", &O::masks, "folder of the masks in the first two layouts")
      .add("mask_suffix", &O::mask_suffix,
           "what the name of a mask has after that of its image, e.g. \"_segmentation\"; the "
           "endings may differ")
      .add(
          "splits", &O::splits,
          "folder of train.txt and optionally val.txt (valid.txt, validation.txt) and test.txt "
          "below root, one name a line; "
          "they choose from all images, in the isic layouts from those of the training part, and a "
          "test.txt comes before split.test")
      .names_files([](const schema::Value& o) -> std::vector<fs::path> {
        const std::string folder = o.at("splits").as_string();
        if (folder.empty()) return {};
        return lists_below(o.at("root").as_string(), part_names(folder, ".txt"));
      })
      .add("img_size", &O::img_size, schema::in_range(0, 8192),
           "image and mask are resized to this square after augmentation; 0: all have the size of "
           "the first, or patches are cut from them")
      .add("patch_size", &O::patch_size, schema::in_range(8, 8192),
           "height and width of random parts of images on which networks are trained; images keep "
           "their own sizes, and evaluations see them whole (eval.inferer); []: none")
      .add("foreground", &O::foreground, schema::in_range(0, 1),
           "of patches: share of those of each batch, its last samples, that lie around a pixel of "
           "a random class")
      .add("longest", &O::longest, schema::in_range(0, 8192),
           "of patches: images are resized so that their longer side is this, their aspect ratio "
           "is kept; 0: they keep their sizes")
      .add("spacing", &O::spacing, schema::greater_than(0),
           "height and width of the pixels of all images in millimetres, for distances in "
           "millimetres; []: unknown")
      .add("in_chans", &O::in_chans, schema::in_range(1, 3), "1 converts to grey, 3 to colour")
      .add_enum(kMaskTypeKey, &O::mask_type, mask_type_words(),
                "foreground: one class, by the next two keys; labels: every value is a class")
      .add("mask_threshold", &O::mask_threshold, schema::in_range(0, 255),
           "grey values (0 to 255) from this one on are foreground; 0: soft masks, value / 255; "
           "null: recognised from the masks of train, if mask_values is null too")
      .add_any("mask_values", &O::mask_values,
               "instead of a threshold: the values that are foreground, e.g. [1, 2], or "
               "\"nonzero\"; for PNG files with a colour palette the indices of its entries. For "
               "labels: the value of each class, in order; null: 0, 1, ... where classes are "
               "named, else all values in train")
      .add("classes", &O::classes, "for labels: names of the classes; empty: their values")
      .add("background", &O::background,
           "for labels: the first class is the background, which means over classes and colours "
           "leave out; false: it is one like the others, as of scenes")
      .add("ignore_value", &O::ignore_value, schema::in_range(0, 65535),
           "for labels: the value of ignored pixels, often 255; null: none")
      .add_enum("mask_resize", &O::mask_resize,
                {{"nearest", Resampling::kNearest}, {"bilinear", Resampling::kBilinear}},
                "how masks are resized; bilinear makes their borders soft (kcla 5.4) and is not "
                "for labels")
      .add_enum("intensity", &O::intensity,
                {{"unit", PairIntensity::kUnit}, {"min_max_255", PairIntensity::kMinMax255}},
                "unit: value / 255, then mean and std; min_max_255: every image is stretched to "
                "0..255 by its own extremes, as the network of kcla 5.4 sees it")
      .add("exif", &O::exif,
           "turn images as the EXIF orientation of their JPEG files says; masks stay")
      .check([](const O& o) {
        if (o.in_chans == 2) return std::string("in_chans is 2, expected 1 or 3");
        if (std::string wrong = size_complaint(o); !wrong.empty()) return wrong;
        return complaint(o);
      });
}

}  // namespace

FOVEA_DATASET(paired_folder, open_paired_folder, "pictures with masks: images/<name>, masks/<name>",
              kPairsPage, paired_folder_fields())

}  // namespace fovea::data
