// Pictures with masks in a second folder, matched by name: the layouts of Kvasir-SEG and of the
// ISIC challenges, with lists of names for the splits. kcla 5.4.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "data/folder.h"
#include "data/mask_values.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReader = "paired_folder";
constexpr const char* kPage = "datasets/paired_folder.md";

enum class Layout { kShared, kBySplit, kIsic2017, kIsic2018 };
enum class Intensity { kUnit, kMinMax255 };

struct Options : CommonOptions {
  static constexpr Kind kKind = Kind::kMaskedImages;
  Layout layout = Layout::kShared;
  std::string images = "images";
  std::string masks = "masks";
  std::string mask_suffix;
  std::string splits = "splits";
  std::int64_t img_size = 0;
  std::int64_t in_chans = 3;
  std::optional<std::int64_t> mask_threshold;
  schema::Value mask_values;
  Resampling mask_resize = Resampling::kNearest;
  Intensity intensity = Intensity::kUnit;
  bool lists_test() const;
  bool exif = false;
  std::optional<SampleShape> sample_shape() const {
    if (img_size == 0) return std::nullopt;
    return SampleShape{in_chans, img_size, img_size, 1};
  }
};

bool has_list(const fs::path& lists, const Options& o, Split split) {
  std::error_code code;
  return !o.splits.empty() && fs::exists(lists / (std::string(name_of(split)) + ".txt"), code);
}

bool Options::lists_test() const {
  const fs::path lists = fs::path(root) / splits;
  return has_list(lists, *this, Split::kTrain) && has_list(lists, *this, Split::kTest);
}

// Where the images and masks of a split lie.
struct Folders {
  fs::path images;
  fs::path masks;
  std::string mask_suffix;
};

Folders folders_of(const fs::path& root, Split split, const Options& o) {
  const auto part = [&](const char* train, const char* val, const char* test) {
    return split == Split::kTrain ? train : split == Split::kVal ? val : test;
  };
  switch (o.layout) {
    case Layout::kShared:
      return {root / o.images, root / o.masks, o.mask_suffix};
    case Layout::kBySplit:
      return {root / name_of(split) / o.images, root / name_of(split) / o.masks, o.mask_suffix};
    case Layout::kIsic2017: {
      const std::string name = part("Training", "Validation", "Test_v2");
      return {root / ("ISIC-2017_" + name + "_Data"),
              root / ("ISIC-2017_" + name + "_Part1_GroundTruth"), "_segmentation"};
    }
    case Layout::kIsic2018: {
      const std::string name = part("Training", "Validation", "Test");
      return {root / ("ISIC2018_Task1-2_" + name + "_Input"),
              root / ("ISIC2018_Task1_" + name + "_GroundTruth"), "_segmentation"};
    }
  }
  return {};
}

struct Pair {
  fs::path image;
  fs::path mask;
};

// All pairs of two folders in byte order of the images' names.
std::vector<Pair> pairs_in(const Folders& folders) {
  std::error_code code;
  for (const fs::path& folder : {folders.images, folders.masks}) {
    FOVEA_CHECK(fs::is_directory(folder, code), FileError,
                fmt::format("dataset.root: {}: not found; see {}", folder.string(), kPage));
  }
  std::map<std::string, fs::path> masks;
  for (fs::path& mask : image_files(kReader, folders.masks, kPage)) {
    const std::string stem = mask.stem().string();
    const auto [known, added] = masks.emplace(stem, mask);
    FOVEA_CHECK(added, FileError,
                fmt::format("paired_folder: {} and {}: two masks of one name",
                            known->second.string(), mask.filename().string()));
  }
  std::vector<Pair> pairs;
  for (fs::path& image : image_files(kReader, folders.images, kPage)) {
    const std::string stem = image.stem().string();
    if (stem.ends_with("_superpixels")) continue;  // come with ISIC 2017
    const auto mask = masks.find(stem + folders.mask_suffix);
    FOVEA_CHECK(
        mask != masks.end(), FileError,
        fmt::format("paired_folder: {}: has no mask; expected {}.png or another ending",
                    image.string(), (folders.masks / (stem + folders.mask_suffix)).string()));
    pairs.push_back({std::move(image), mask->second});
  }
  return pairs;
}

// The names of a list, one a line, with or without ending; nothing if there is no such list.
std::optional<std::map<std::string, int>> read_list(const fs::path& file) {
  std::error_code code;
  if (!fs::exists(file, code)) return std::nullopt;
  std::istringstream lines(io::read_text(file));
  std::map<std::string, int> names;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty()) continue;
    const fs::path name(line);
    const std::string stem = has_image_extension(name) ? name.stem().string() : line;
    const auto [first, added] = names.emplace(stem, number);
    FOVEA_CHECK(
        added, FileError,
        fmt::format("{}:{}: {} is also in line {}", file.string(), number, line, first->second));
  }
  FOVEA_CHECK(!names.empty(), FileError, fmt::format("{}: holds no name", file.string()));
  return names;
}

// The pairs that a list names. A name may be in one list only.
std::vector<Pair> listed(const std::vector<Pair>& all, const fs::path& lists, Split split) {
  const auto path_of = [&](Split s) { return lists / (std::string(name_of(s)) + ".txt"); };
  std::map<Split, std::map<std::string, int>> names;
  for (const Split s : {Split::kTrain, Split::kVal, Split::kTest}) {
    if (auto list = read_list(path_of(s))) names.emplace(s, std::move(*list));
  }
  const auto wanted = names.find(split);
  FOVEA_CHECK(wanted != names.end(), FileError,
              fmt::format("dataset.splits: {}: not found; see {}", path_of(split).string(), kPage));
  for (const auto& [name, line] : wanted->second) {
    for (const auto& [other, theirs] : names) {
      FOVEA_CHECK(other == split || theirs.count(name) == 0, FileError,
                  fmt::format("{}:{}: {} is also in {}", path_of(split).string(), line, name,
                              path_of(other).filename().string()));
    }
  }
  std::vector<Pair> chosen;
  std::vector<std::string> stems;
  for (const Pair& pair : all) {
    stems.push_back(pair.image.stem().string());
    if (wanted->second.count(stems.back()) > 0) chosen.push_back(pair);
  }
  if (chosen.size() == wanted->second.size()) return chosen;
  for (const auto& [name, line] : wanted->second) {
    FOVEA_CHECK(
        std::binary_search(stems.begin(), stems.end(), name), FileError,
        fmt::format("{}:{}: {}: no image of this name in {}{}", path_of(split).string(), line, name,
                    all.front().image.parent_path().string(), did_you_mean(name, stems)));
  }
  throw FileError(fmt::format("{}: two images of one name", path_of(split).string()));
}

class PairedFolder final : public Source {
 public:
  /// `train` gives what all parts go by: the size, if none was given, and the rule of the masks.
  PairedFolder(std::vector<Pair> pairs, const std::vector<Pair>& train, const Options& o)
      : pairs_(std::move(pairs)),
        img_size_(o.img_size),
        exif_(exif_of(o.exif)),
        rule_(rule_of(train, o)) {
    labels_.assign(pairs_.size(), 0);
    info_.class_names = {"foreground"};
    info_.channels = o.in_chans;
    info_.masks = o.mask_resize;
    if (o.intensity == Intensity::kMinMax255) {
      info_.stretch = true;
      info_.mean = {0.0};
      info_.std = {1.0 / 255};
    } else {
      info_.mean = o.in_chans == 1 ? std::vector{0.449} : std::vector{0.485, 0.456, 0.406};
      info_.std = o.in_chans == 1 ? std::vector{0.226} : std::vector{0.229, 0.224, 0.225};
    }
    info_.height = info_.width = img_size_;
    if (img_size_ == 0) measure(train);
    note_left_out();
  }

  Image read(std::int64_t index) const override {
    const fs::path& file = pairs_[static_cast<std::size_t>(index)].image;
    Image image = read_file(file);
    FOVEA_CHECK(
        img_size_ > 0 || (image.height == info_.height && image.width == info_.width), FileError,
        fmt::format("{}: is {} x {}, the first image of train {} x {}; set dataset.img_size to "
                    "bring all to one size",
                    file.string(), image.height, image.width, info_.height, info_.width));
    return image;
  }

  Image read_mask(std::int64_t index, const Image& image) const override {
    const Pair& pair = pairs_[static_cast<std::size_t>(index)];
    Image mask = rule_.apply(rule_.read(pair.mask), pair.mask.string());
    FOVEA_CHECK(
        mask.height == image.height && mask.width == image.width, FileError,
        fmt::format("{}: is {} x {}, its image {} is {} x {}", pair.mask.string(), mask.height,
                    mask.width, pair.image.filename().string(), image.height, image.width));
    return mask;
  }

  Image read_file(const fs::path& file) const override {
    return read_image(file, info_.channels, exif_);
  }

  void check_targets(const std::vector<std::int64_t>& indices, Split split) const override {
    MaskValues seen;
    for (const std::int64_t index : indices) {
      try {
        const MaskFile mask = rule_.read(pairs_[static_cast<std::size_t>(index)].mask);
        if (rule_.has_foreground(mask)) return;
        seen.add(mask);
      } catch (const FileError&) {  // reported when the sample itself is used
      }
    }
    FOVEA_CHECK(seen.files() == 0, FileError,
                fmt::format("dataset: the masks of {} hold no foreground, which is {}: values "
                            "found: {}; see dataset.mask_values and dataset.mask_threshold in {}",
                            name_of(split), rule_.text(), seen.text(), kPage));
  }

  std::string name(std::int64_t index) const override {
    return pairs_[static_cast<std::size_t>(index)].image.string();
  }
  std::vector<fs::path> files() const override {
    std::vector<fs::path> files;
    for (const Pair& pair : pairs_) files.insert(files.end(), {pair.image, pair.mask});
    return files;
  }
  bool in_memory() const override { return false; }

 private:
  static Exif exif_of(bool wanted) { return wanted ? Exif::kApply : Exif::kIgnore; }
  static MaskRule rule_of(const std::vector<Pair>& train, const Options& o) {
    if (const auto given = MaskRule::given(o.mask_threshold, o.mask_values)) return *given;
    std::vector<fs::path> masks;
    for (const Pair& pair : train) masks.push_back(pair.mask);
    return MaskRule::recognise(masks);
  }

  void note_left_out() {
    std::set<fs::path> folders;
    for (const Pair& pair : pairs_) {
      folders.insert({pair.image.parent_path(), pair.mask.parent_path()});
    }
    for (const fs::path& folder : folders) {
      LeftOut left_out;
      for (const auto& entry : sorted_entries(kReader, folder)) left_out.add(entry.path());
      left_out.note(kReader, folder, notes_);
    }
  }

  // Every split takes its size from the first image of train that can be decoded.
  void measure(const std::vector<Pair>& train) {
    std::string first_error;
    for (const Pair& pair : train) {
      try {
        const Image image = read_file(pair.image);
        info_.height = image.height;
        info_.width = image.width;
        return;
      } catch (const FileError& error) {  // reported when the sample itself is used
        if (first_error.empty()) first_error = error.what();
      }
    }
    throw FileError(first_error);
  }

  std::vector<Pair> pairs_;
  std::int64_t img_size_;
  Exif exif_;
  MaskRule rule_;
};

// Pairs of a part; nothing for a val or test part that is not there.
std::optional<std::vector<Pair>> pairs_of(const fs::path& root, Split split, const Options& o) {
  std::error_code code;
  const fs::path lists = root / o.splits;
  const std::vector<Pair> all = pairs_in(folders_of(root, Split::kTrain, o));
  if (has_list(lists, o, Split::kTrain)) {
    if (split != Split::kTrain && !has_list(lists, o, split)) return std::nullopt;
    return listed(all, lists, split);
  }
  for (const Split other : {Split::kVal, Split::kTest}) {
    FOVEA_CHECK(!has_list(lists, o, other), FileError,
                fmt::format("dataset.splits: {}: not found, but {}.txt is there; list the names of "
                            "train too; see {}",
                            (lists / "train.txt").string(), name_of(other), kPage));
  }
  FOVEA_CHECK(o.layout != Layout::kShared || o.split.cuts_val() || o.split.cuts_test(), FileError,
              fmt::format("dataset.splits: {}: not found; list the names of each split there, or "
                          "set dataset.split.test; see {}",
                          (lists / "train.txt").string(), kPage));
  if (split == Split::kTrain) return all;
  // A test part that is cut from the training part, as in the papers, replaces the other folders.
  if (o.layout == Layout::kShared || o.split.cuts_test()) return std::nullopt;
  const Folders folders = folders_of(root, split, o);
  if (!fs::is_directory(folders.images, code)) return std::nullopt;
  return pairs_in(folders);
}

std::unique_ptr<Source> open(const Place& place, const Options& options) {
  auto pairs = pairs_of(place.root, place.split, options);
  if (!pairs) return nullptr;
  const std::vector<Pair> train = *pairs_of(place.root, Split::kTrain, options);
  return std::make_unique<PairedFolder>(std::move(*pairs), train, options);
}

schema::Fields<Options> fields() {
  using O = Options;
  return schema::Fields<O>{}
      .add_enum("layout", &O::layout,
                {{"shared", Layout::kShared},
                 {"by_split", Layout::kBySplit},
                 {"isic2017", Layout::kIsic2017},
                 {"isic2018", Layout::kIsic2018}},
                "shared: images/ and masks/, as Kvasir-SEG; by_split: train/images, train/masks, "
                "val/..., test/...; isic2017, isic2018: the folders of the challenges")
      .add("images", &O::images, "folder of the images in the first two layouts")
      .add("masks", &O::masks, "folder of the masks in the first two layouts")
      .add("mask_suffix", &O::mask_suffix,
           "what a mask's name has after its image's, e.g. \"_segmentation\"; the endings may "
           "differ")
      .add(
          "splits", &O::splits,
          "folder of train.txt and optionally val.txt and test.txt below root, one name a line; "
          "they choose from all images, in the isic layouts from those of the training part, and a "
          "test.txt comes before split.test")
      .add("img_size", &O::img_size, schema::in_range(0, 8192),
           "image and mask are resized to this square after augmentation; 0: all have the size of "
           "the first")
      .add("in_chans", &O::in_chans, schema::in_range(1, 3), "1 converts to grey, 3 to colour")
      .add("mask_threshold", &O::mask_threshold, schema::in_range(0, 255),
           "grey values from here on, of 0 to 255, are foreground; 0: value / 255, which may be "
           "soft; null: recognised from the masks of train, if mask_values is null too")
      .add_any("mask_values", &O::mask_values,
               "instead: the values that are foreground, e.g. [1, 2], or \"nonzero\"; of PNG files "
               "with a palette of colours the numbers of its entries")
      .add_enum("mask_resize", &O::mask_resize,
                {{"nearest", Resampling::kNearest}, {"bilinear", Resampling::kBilinear}},
                "how masks are resized; bilinear makes their borders soft (kcla 5.4)")
      .add_enum("intensity", &O::intensity,
                {{"unit", Intensity::kUnit}, {"min_max_255", Intensity::kMinMax255}},
                "unit: value / 255, then mean and std; min_max_255: every image is stretched to "
                "0..255 by its own extremes, as the network of kcla 5.4 sees it")
      .add("exif", &O::exif,
           "turn images as the EXIF orientation of their JPEG files says; masks stay")
      .check([](const O& o) {
        return o.in_chans == 2 ? std::string("in_chans is 2, expected 1 or 3")
                               : MaskRule::complaint(o.mask_threshold, o.mask_values);
      });
}

}  // namespace

FOVEA_DATASET(paired_folder, open, "pictures with masks: images/<name>, masks/<name>", kPage,
              fields())

}  // namespace fovea::data
