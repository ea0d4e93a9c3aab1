// Folders in the layout of nnU-Net's raw data (version 1, the Medical Segmentation Decathlon's, and
// version 2): dataset.json, imagesTr, labelsTr, and perhaps imagesTs with labelsTs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"
#include "data/parts/published_parts.h"
#include "data/registry.h"
#include "data/sets/nnunet_labels.h"
#include "schema/json/parse.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;
using schema::Value;

constexpr const char* kNnUnet = "nnunet";
constexpr const char* kNnUnetPage = "datasets/nnunet.md";

enum class NnUnetIntensity { kAuto, kMr, kCt };

struct NnUnetOptions : VolumeSetOptions {
  NnUnetOptions() { img_size = {64, 64, 64}; }
  PartsFrom parts = PartsFrom::kAll;
  NnUnetIntensity intensities = NnUnetIntensity::kAuto;
};

VolumeInfo read_info(const fs::path& root, NnUnetIntensity intensities) {
  const fs::path file = root / "dataset.json";
  std::error_code code;
  FOVEA_CHECK(fs::is_regular_file(file, code), FileError,
              fmt::format("dataset.root: {}: not found; see {}", file.string(), kNnUnetPage));
  try {
    const Value json = schema::parse(io::read_text(file), file.string());
    VolumeInfo info;
    read_labels(json, file, info);
    const Value* channels = json.find("channel_names");
    if (channels == nullptr) channels = json.find("modality");
    std::string first;
    if (channels != nullptr && channels->is_object() && channels->size() > 0) {
      info.channels = static_cast<std::int64_t>(channels->size());
      first = channels->members().front().value.as_string();
    }
    if (const Value* count = json.find("numTraining"); count != nullptr && count->is_integer())
      info.declared_cases = count->as_int();
    info.ct = intensities == NnUnetIntensity::kCt ||
              (intensities == NnUnetIntensity::kAuto && (first == "CT" || first == "ct"));
    return info;
  } catch (const ConfigError& error) {  // of the parser, with the place in the file
    throw FileError(error.what());
  }
}

std::string stem_of(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find(".nii"));
}

// NIfTI files of a folder in byte order. Throws FileError for two of one name without ending.
std::vector<fs::path> volumes_in(const fs::path& folder) {
  std::map<std::string, fs::path> names;
  std::vector<fs::path> files;
  for (const auto& entry : sorted_entries(kNnUnet, folder)) {
    if (!has_nifti_extension(entry.path())) continue;
    const auto [known, added] = names.emplace(stem_of(entry.path()), entry.path());
    FOVEA_CHECK(added, FileError,
                fmt::format("{}: {} and {}: two files of one name; remove one of them", kNnUnet,
                            known->second.string(), entry.path().filename().string()));
    files.push_back(entry.path());
  }
  return files;
}

// "3 of 20 (a_1, a_2, a_3)", the first few of them.
std::string some_of(const std::vector<std::string>& names, std::size_t of) {
  constexpr std::size_t kNamed = 3;
  const std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)));
  return fmt::format("{} of {} ({}{})", names.size(), of, fmt::join(first, ", "),
                     names.size() > kNamed ? ", ..." : "");
}

// NAME.nii.gz, or NAME_0000.nii.gz, NAME_0001.nii.gz, ... of channels, with NAME.nii.gz of labels.
// Images without labels are noted.
std::vector<VolumeCase> cases_in(const fs::path& images, const fs::path& labels,
                                 std::vector<std::string>& notes) {
  std::map<std::string, fs::path> files;
  for (const fs::path& image : volumes_in(images)) files.emplace(stem_of(image), image);
  const std::size_t all = files.size();
  std::vector<VolumeCase> cases;
  for (const fs::path& path : volumes_in(labels)) {
    VolumeCase one{{}, path, path.string()};
    const std::string stem = stem_of(path);
    if (const auto plain = files.find(stem); plain != files.end()) {
      one.images = {plain->second};
      files.erase(plain);
    } else {
      for (int c = 0;; ++c) {
        const auto channel = files.find(fmt::format("{}_{:04}", stem, c));
        if (channel == files.end()) break;
        one.images.push_back(channel->second);
        files.erase(channel);
      }
    }
    FOVEA_CHECK(!one.images.empty(), FileError,
                fmt::format("{}: {}: has no image; expected {}.nii.gz or {}_0000.nii.gz in {}",
                            kNnUnet, path.string(), stem, stem, images.string()));
    cases.push_back(std::move(one));
  }
  FOVEA_CHECK(!cases.empty(), FileError,
              fmt::format("dataset.root: {}: holds no .nii or .nii.gz; see {}", labels.string(),
                          kNnUnetPage));
  if (files.empty()) return cases;
  std::vector<std::string> names;
  for (const auto& [stem, path] : files) names.push_back(path.filename().string());
  notes.push_back(fmt::format("{}: {}: {} images have no labels in {} and are left out", kNnUnet,
                              images.string(), some_of(names, all), labels.string()));
  return cases;
}

// What dataset.json says of the number of training cases, as nnU-Net checks it.
void compare_count(const VolumeInfo& info, std::size_t cases, std::vector<std::string>& notes) {
  if (!info.declared_cases || *info.declared_cases == static_cast<std::int64_t>(cases)) return;
  notes.push_back(
      fmt::format("{}: dataset.json says numTraining {}; imagesTr and labelsTr hold {} "
                  "cases",
                  kNnUnet, *info.declared_cases, cases));
}

void note_unlabelled_test(const fs::path& root, bool has_test, std::vector<std::string>& notes) {
  std::error_code code;
  const fs::path images = root / "imagesTs";
  if (has_test || !fs::is_directory(images, code)) return;
  const std::size_t count = volumes_in(images).size();
  if (count > 0)
    notes.push_back(fmt::format("{}: {}: {} images belong to no part, since there is no labelsTs",
                                kNnUnet, images.string(), count));
}

std::unique_ptr<VolumePart> open_nnunet(const Place& place, const NnUnetOptions& o) {
  VolumeInfo info = read_info(place.root, o.intensities);
  std::error_code code;
  const bool has_test = fs::is_directory(place.root / "labelsTs", code);
  std::vector<std::string> notes;
  if (o.parts == PartsFrom::kAll) {
    if (place.split == Split::kVal || (place.split == Split::kTest && !has_test)) return nullptr;
    const bool test = place.split == Split::kTest;
    const fs::path images = place.root / (test ? "imagesTs" : "imagesTr");
    const fs::path labels = place.root / (test ? "labelsTs" : "labelsTr");
    FOVEA_CHECK(
        fs::is_directory(images, code) && fs::is_directory(labels, code), FileError,
        fmt::format("dataset.root: {}: not found; see {}",
                    (fs::is_directory(images, code) ? labels : images).string(), kNnUnetPage));
    std::vector<VolumeCase> cases = cases_in(images, labels, notes);
    if (!test) {
      compare_count(info, cases.size(), notes);
      note_unlabelled_test(place.root, has_test, notes);
    }
    return std::make_unique<NiftiVolumes>(std::move(cases), std::move(info), std::move(notes));
  }
  const std::vector<VolumeCase> all =
      cases_in(place.root / "imagesTr", place.root / "labelsTr", notes);
  compare_count(info, all.size(), notes);
  // Lists name cases, or their files.
  const fs::path lists = place.root / "splits";
  bool files = false;
  if (has_list(lists, Split::kTrain)) {
    for (const auto& [line, number] : names_in_list(lists, Split::kTrain))
      files = files || has_nifti_extension(line);
  }
  std::vector<std::string> names;
  for (const VolumeCase& one : all)
    names.push_back(files ? one.labels.filename().string() : stem_of(one.labels));
  std::vector<VolumeCase> chosen;
  for (const std::int64_t i :
       places_of_part({kNnUnet, o.parts, lists, {}}, place.split, names, notes))
    chosen.push_back(all[static_cast<std::size_t>(i)]);
  if (chosen.empty()) return nullptr;
  return std::make_unique<NiftiVolumes>(std::move(chosen), std::move(info), std::move(notes));
}

}  // namespace

FOVEA_DATASET(
    nnunet, open_nnunet, "volumes with labels in nnU-Net's folders", kNnUnetPage,
    schema::Fields<NnUnetOptions>{}
        .add_enum("parts", &NnUnetOptions::parts,
                  {{"all", PartsFrom::kAll}, {"lists", PartsFrom::kLists}},
                  "all: imagesTr is train, for dataset.split (whose fold honours "
                  "splits_final.json), imagesTs with labelsTs is test; lists: "
                  "ROOT/splits/train.txt, val.txt, test.txt name cases of imagesTr")
        .names_files(part_lists)
        .add_enum("intensities", &NnUnetOptions::intensities,
                  {{"auto", NnUnetIntensity::kAuto},
                   {"mr", NnUnetIntensity::kMr},
                   {"ct", NnUnetIntensity::kCt}},
                  "mr: every volume by its own mean and deviation; ct: all by those of the "
                  "training foreground; auto: as dataset.json names the first channel")
        .add("foreground_voxels", &NnUnetOptions::foreground_voxels, schema::at_least(0),
             "for CT: how many foreground voxels are drawn from each case and channel for the "
             "scale of intensities, as in nnU-Net; 0: all")
        .add("canonical", &NnUnetOptions::canonical, kCanonicalHelp))

}  // namespace fovea::data
