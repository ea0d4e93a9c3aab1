// Folders in the layout of nnU-Net's raw data (version 1, the Medical Segmentation Decathlon's, and
// version 2): dataset.json, imagesTr, labelsTr, and perhaps imagesTs with labelsTs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "data/folder.h"
#include "data/image_pairs.h"
#include "data/published_parts.h"
#include "data/registry.h"
#include "schema/parse.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;
using schema::Value;

constexpr const char* kNnUnet = "nnunet";
constexpr const char* kNnUnetPage = "datasets/nnunet.md";

enum class Intensity { kAuto, kMr, kCt };

struct NnUnetOptions : VolumeSetOptions {
  PartsFrom parts = PartsFrom::kAll;
  Intensity intensities = Intensity::kAuto;
};

// "0": "background" of version 1, "background": 0 of version 2.
void add_labels(const Value& labels, const fs::path& file, VolumeInfo& info) {
  std::map<int, std::string> names;
  for (const Value::Member& member : labels.members()) {
    const bool second = member.value.is_integer();
    FOVEA_CHECK(second || member.value.is_string(), FileError,
                fmt::format("{}: labels: \"{}\" has no number; regions of several labels are not "
                            "read",
                            file.string(), member.key));
    const std::string number = second ? std::to_string(member.value.as_int()) : member.key;
    const std::string name = second ? member.key : member.value.as_string();
    const bool digits = !number.empty() && number.size() <= 3 &&
                        std::all_of(number.begin(), number.end(),
                                    [](unsigned char c) { return c >= '0' && c <= '9'; });
    FOVEA_CHECK(
        digits && std::stoi(number) <= 255, FileError,
        fmt::format("{}: labels: {} is no whole number from 0 to 255", file.string(), number));
    FOVEA_CHECK(names.emplace(std::stoi(number), name).second, FileError,
                fmt::format("{}: labels: {} is given twice", file.string(), number));
  }
  FOVEA_CHECK(names.size() > 1 && names.begin()->first == 0, FileError,
              fmt::format("{}: labels: {} given; expected the background, 0, and others",
                          file.string(), names.size()));
  for (const auto& [value, name] : names) {
    info.label_values.push_back(value);
    info.class_names.push_back(name);
  }
}

VolumeInfo read_info(const fs::path& root, Intensity intensities) {
  const fs::path file = root / "dataset.json";
  std::error_code code;
  FOVEA_CHECK(fs::is_regular_file(file, code), FileError,
              fmt::format("dataset.root: {}: not found; see {}", file.string(), kNnUnetPage));
  try {
    const Value json = schema::parse(io::read_text(file), file.string());
    VolumeInfo info;
    add_labels(json.at("labels"), file, info);
    const Value* channels = json.find("channel_names");
    if (channels == nullptr) channels = json.find("modality");
    std::string first;
    if (channels != nullptr && channels->is_object() && channels->size() > 0) {
      info.channels = static_cast<std::int64_t>(channels->size());
      first = channels->members().front().value.as_string();
    }
    info.ct = intensities == Intensity::kCt ||
              (intensities == Intensity::kAuto && (first == "CT" || first == "ct"));
    return info;
  } catch (const ConfigError& error) {  // of the parser, with the place in the file
    throw FileError(error.what());
  }
}

std::string stem_of(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find(".nii"));
}

// NAME.nii.gz, or NAME_0000.nii.gz, NAME_0001.nii.gz, ... of channels, with NAME.nii.gz of labels.
std::vector<VolumeCase> cases_in(const fs::path& images, const fs::path& labels) {
  std::map<std::string, std::vector<fs::path>> files;
  for (const auto& entry : sorted_entries(kNnUnet, images)) {
    if (has_nifti_extension(entry.path())) files[stem_of(entry.path())].push_back(entry.path());
  }
  std::vector<VolumeCase> cases;
  for (const auto& entry : sorted_entries(kNnUnet, labels)) {
    if (!has_nifti_extension(entry.path())) continue;
    VolumeCase one{{}, entry.path(), entry.path().string()};
    const std::string stem = stem_of(entry.path());
    if (const auto plain = files.find(stem); plain != files.end()) {
      one.images = plain->second;
    } else {
      for (int c = 0;; ++c) {
        const auto channel = files.find(fmt::format("{}_{:04}", stem, c));
        if (channel == files.end()) break;
        one.images.push_back(channel->second.front());
      }
    }
    FOVEA_CHECK(!one.images.empty(), FileError,
                fmt::format("{}: {}: has no image; expected {}.nii.gz or {}_0000.nii.gz in {}",
                            kNnUnet, entry.path().string(), stem, stem, images.string()));
    cases.push_back(std::move(one));
  }
  FOVEA_CHECK(!cases.empty(), FileError,
              fmt::format("dataset.root: {}: holds no .nii or .nii.gz; see {}", labels.string(),
                          kNnUnetPage));
  return cases;
}

std::unique_ptr<VolumePart> open_nnunet(const Place& place, const NnUnetOptions& o) {
  VolumeInfo info = read_info(place.root, o.intensities);
  std::error_code code;
  const bool has_test = fs::is_directory(place.root / "labelsTs", code);
  if (o.parts == PartsFrom::kAll) {
    if (place.split == Split::kVal || (place.split == Split::kTest && !has_test)) return nullptr;
    const bool test = place.split == Split::kTest;
    const fs::path images = place.root / (test ? "imagesTs" : "imagesTr");
    const fs::path labels = place.root / (test ? "labelsTs" : "labelsTr");
    FOVEA_CHECK(
        fs::is_directory(images, code) && fs::is_directory(labels, code), FileError,
        fmt::format("dataset.root: {}: not found; see {}",
                    (fs::is_directory(images, code) ? labels : images).string(), kNnUnetPage));
    return std::make_unique<NiftiVolumes>(cases_in(images, labels), std::move(info));
  }
  const std::vector<VolumeCase> all = cases_in(place.root / "imagesTr", place.root / "labelsTr");
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
  std::vector<std::string> notes;
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
                  {{"auto", Intensity::kAuto}, {"mr", Intensity::kMr}, {"ct", Intensity::kCt}},
                  "mr: every volume by its own mean and deviation; ct: all by those of the "
                  "training foreground; auto: as dataset.json names the first channel")
        .add("canonical", &NnUnetOptions::canonical, kCanonicalHelp))

}  // namespace fovea::data
