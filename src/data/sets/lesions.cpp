// BUSI, PH2 and HAM10000: pictures of lesions with one mask each, prepared as gdla 6.4 says.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/images/paired_source.h"
#include "data/parts/folder.h"
#include "data/parts/published_parts.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr int kHalf = 128;  // grey values from here on are foreground

struct LesionOptions : ImageOptions {
  static constexpr Kind kKind = Kind::kLabelMaps;
  static Kind kind_of(const schema::Value& options) {
    return kind_by_mask_type(options, MaskType::kLabels);
  }
  std::int64_t img_size = 224;
  PartsFrom parts = PartsFrom::kPaper;
  MaskType mask_type = MaskType::kLabels;
  bool mask_minmax = false;

  bool labels() const { return mask_type == MaskType::kLabels; }
  std::optional<SampleShape> sample_shape() const {
    return SampleShape{.channels = 3,
                       .height = img_size,
                       .width = img_size,
                       .classes = labels() ? 2 : 1,
                       .label_maps = labels()};
  }
};

// A picture, what the lists of parts call it, and its mask.
struct Lesion {
  std::string id;
  ImagePair files;
};

// One of the three data sets.
struct LesionSet {
  const char* name;
  const char* page;
  const char* layout;  // what is expected below root
  DrawnShares drawn;
  std::vector<Lesion> (*find)(const LesionSet& set, const fs::path& root);
};

std::vector<fs::path> files_of(const LesionSet& set, const fs::path& folder) {
  std::error_code code;
  return fs::is_directory(folder, code) ? image_files(set.name, folder, set.page)
                                        : std::vector<fs::path>();
}

// <class>/<class> (N).png with <class> (N)_mask.png. Further masks of one picture, _mask_1.png, are
// not read, as in the public code.
std::vector<Lesion> find_busi(const LesionSet& set, const fs::path& root) {
  std::vector<Lesion> lesions;
  for (const char* kind : {"benign", "malignant", "normal"}) {
    const std::vector<fs::path> files = files_of(set, root / kind);
    for (const fs::path& file : files) {
      const std::string stem = file.stem().string();
      if (stem.find("_mask") != std::string::npos) continue;
      lesions.push_back({stem, {file, file.parent_path() / (stem + "_mask.png")}});
    }
  }
  return lesions;
}

// IMDnnn/IMDnnn_Dermoscopic_Image/IMDnnn.bmp with IMDnnn/IMDnnn_lesion/IMDnnn_lesion.bmp.
std::vector<Lesion> find_ph2(const LesionSet& set, const fs::path& root) {
  std::error_code code;
  const fs::path inner = root / "PH2 Dataset images";
  std::vector<Lesion> lesions;
  for (const auto& entry : sorted_entries(set.name, fs::is_directory(inner, code) ? inner : root)) {
    const std::string id = entry.path().filename().string();
    const auto images = files_of(set, entry.path() / (id + "_Dermoscopic_Image"));
    const auto masks = files_of(set, entry.path() / (id + "_lesion"));
    if (!images.empty() && !masks.empty()) lesions.push_back({id, {images.front(), masks.front()}});
  }
  return lesions;
}

// ISIC_<id>.jpg and ISIC_<id>_segmentation.png in the folders of the Dataverse, or images, masks.
std::vector<Lesion> find_ham10000(const LesionSet& set, const fs::path& root) {
  constexpr std::string_view kPrefix = "ISIC_";
  std::error_code code;
  fs::path masks = root / "masks";
  if (!fs::is_directory(masks, code)) masks = root / "HAM10000_segmentations_lesion_tschandl";
  std::vector<Lesion> lesions;
  for (const char* folder : {"images", "HAM10000_images_part_1", "HAM10000_images_part_2"}) {
    for (const fs::path& file : files_of(set, root / folder)) {
      const std::string stem = file.stem().string();
      if (!stem.starts_with(kPrefix)) continue;
      lesions.push_back(
          {stem.substr(kPrefix.size()), {file, masks / (stem + "_segmentation.png")}});
    }
  }
  std::sort(lesions.begin(), lesions.end(),
            [](const Lesion& a, const Lesion& b) { return a.id < b.id; });
  return lesions;
}

constexpr LesionSet kBusi{
    "busi", "datasets/busi.md", "benign/benign (1).png", {0.1, 0.1}, find_busi};
constexpr LesionSet kPh2{
    "ph2", "datasets/ph2.md", "IMD002/IMD002_Dermoscopic_Image/IMD002.bmp", {}, find_ph2};
constexpr LesionSet kHam10000{
    "ham10000", "datasets/ham10000.md", "images/ISIC_0024306.jpg", {0.2, 0}, find_ham10000};

std::vector<Lesion> find_all(const LesionSet& set, const fs::path& root) {
  std::error_code code;
  FOVEA_CHECK(fs::is_directory(root, code), FileError,
              fmt::format("dataset.root: {}: not found; see {}", root.string(), set.page));
  std::vector<Lesion> all = set.find(set, root);
  FOVEA_CHECK(
      !all.empty(), FileError,
      fmt::format("dataset.root: {}: holds no {}; see {}", root.string(), set.layout, set.page));
  std::vector<ImagePair> pairs;
  for (const Lesion& lesion : all) pairs.push_back(lesion.files);
  check_own_masks(set.name, pairs);
  for (const Lesion& lesion : all) {
    FOVEA_CHECK(fs::exists(lesion.files.mask, code), FileError,
                fmt::format("{}: {}: has no mask; expected {}", set.name,
                            lesion.files.image.string(), lesion.files.mask.string()));
  }
  return all;
}

template <const LesionSet& set>
std::unique_ptr<Source> open_lesions(const Place& place, const LesionOptions& o) {
  const std::vector<Lesion> all = find_all(set, place.root);
  std::vector<std::string> ids;
  for (const Lesion& lesion : all) {
    ids.push_back(o.parts == PartsFrom::kPaper ? lesion.id : lesion.files.image.stem().string());
  }
  std::vector<std::string> notes;
  std::vector<ImagePair> pairs;
  const PartRule parts{set.name, o.parts, place.root / "splits", set.drawn};
  for (const std::int64_t i : places_of_part(parts, place.split, ids, notes))
    pairs.push_back(all[static_cast<std::size_t>(i)].files);
  if (pairs.empty()) {
    FOVEA_CHECK(place.split != Split::kTrain, FileError,
                fmt::format("dataset.root: {}: holds no picture of train; see {}",
                            place.root.string(), set.page));
    return nullptr;
  }
  SourceInfo info;
  info.class_names = {"lesion"};
  if (o.labels()) info.class_names = {"background", "lesion"};
  info.channels = 3;
  info.height = info.width = o.img_size;
  info.mean = {0.0};
  info.std = {1.0};
  info.masks = o.labels() ? Masks::kLabels : Masks::kSoft;
  info.label_values = {0, 255};
  info.no_label = 0;
  info.own_sizes = true;
  info.fit = {.resize = {.round_once = true}, .keep_ratio = false};
  info.stretch_last = true;
  PairReading how{
      .rule = MaskRule::threshold(kHalf), .page = set.page, .empty_if_all_one = o.mask_minmax};
  return std::make_unique<PairedSource>(std::move(pairs), std::move(info), std::move(how),
                                        std::move(notes));
}

schema::Fields<LesionOptions> lesions_fields() {
  return schema::Fields<LesionOptions>{}
      .add("img_size", &LesionOptions::img_size, schema::in_range(8, 4096),
           "pictures are resized to this square before augmentation, whatever their aspect ratio: "
           "bilinear with antialiasing, masks floor(i in / out)")
      .add_enum("parts", &LesionOptions::parts, parts_from_words(), kPartsFromHelp)
      .names_files(part_lists)
      .add_enum(kMaskTypeKey, &LesionOptions::mask_type, mask_type_words(),
                "labels: two classes, background and lesion, as in the paper; foreground: one mask")
      .add("mask_minmax", &LesionOptions::mask_minmax,
           "as in the public code, a mask that is all foreground counts as empty");
}

}  // namespace

FOVEA_DATASET(busi, open_lesions<kBusi>, "breast ultrasound with masks of lesions", kBusi.page,
              lesions_fields())
FOVEA_DATASET(ham10000, open_lesions<kHam10000>, "dermoscopic pictures with masks of lesions",
              kHam10000.page, lesions_fields())
FOVEA_DATASET(ph2, open_lesions<kPh2>, "dermoscopic pictures with masks of lesions", kPh2.page,
              lesions_fields())

}  // namespace fovea::data
