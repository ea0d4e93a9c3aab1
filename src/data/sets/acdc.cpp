// ACDC: short-axis heart MRI at end diastole and end systole (Bernard et al., IEEE TMI 2018), slice
// by slice as in gdla 6.4, or whole volumes (dformer 7).
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "data/parts/folder.h"
#include "data/parts/published_parts.h"
#include "data/registry.h"
#include "data/volumes/volume_slices.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAcdcReader = "acdc";
constexpr const char* kAcdcPage = "datasets/acdc.md";
constexpr std::string_view kPatient = "patient";
constexpr const char* kByPatient = "patient(\\d+)";

struct AcdcOptions : ImageOptions {
  static constexpr Kind kKind = Kind::kLabelMaps;
  AcdcOptions() { split.by_group = kByPatient; }
  std::int64_t img_size = 224;
  PartsFrom parts = PartsFrom::kPaper;

  std::optional<SampleShape> sample_shape() const {
    return SampleShape{
        .channels = 1, .height = img_size, .width = img_size, .classes = 4, .label_maps = true};
  }
};

struct WholeOptions : VolumeSetOptions {
  WholeOptions() {
    split.by_group = kByPatient;
    img_size = {16, 160, 160};
  }
  PartsFrom parts = PartsFrom::kPaper;

  std::optional<SampleShape> sample_shape() const {
    return SampleShape{.channels = 1,
                       .height = img_size[1],
                       .width = img_size[2],
                       .classes = 4,
                       .label_maps = true,
                       .depth = img_size[0]};
  }
};

std::string without_nifti_ending(const std::string& name) {
  return name.substr(0, name.find(".nii"));
}

// <patient>_frameFF.nii[.gz] with <patient>_frameFF_gt.nii[.gz]; the film of all frames, which has
// no labels, is left alone.
void add_volumes(const fs::path& folder, std::vector<LabelledVolume>& volumes) {
  std::map<std::string, fs::path> files;
  for (const auto& entry : sorted_entries(kAcdcReader, folder)) {
    if (!has_nifti_extension(entry.path())) continue;
    const auto [known, added] =
        files.emplace(without_nifti_ending(entry.path().filename().string()), entry.path());
    FOVEA_CHECK(added, FileError,
                fmt::format("{}: {} and {}: two files of one name; remove one of them", kAcdcReader,
                            known->second.string(), entry.path().filename().string()));
  }
  for (const auto& [name, path] : files) {
    if (name.ends_with("_gt") || name.find("_frame") == std::string::npos) continue;
    const auto labels = files.find(name + "_gt");
    FOVEA_CHECK(labels != files.end(), FileError,
                fmt::format("{}: {}: has no labels; expected {}_gt.nii or .nii.gz beside it",
                            kAcdcReader, path.string(), name));
    volumes.push_back({path, labels->second, name});
  }
}

// ROOT/patientNNN, or ROOT/training and ROOT/testing with such folders, as they are distributed.
std::vector<LabelledVolume> find_volumes(const fs::path& root) {
  std::error_code code;
  FOVEA_CHECK(fs::is_directory(root, code), FileError,
              fmt::format("dataset.root: {}: not found; see {}", root.string(), kAcdcPage));
  std::vector<LabelledVolume> volumes;
  for (const fs::path& folder : {root, root / "testing", root / "training"}) {
    if (!fs::is_directory(folder, code)) continue;
    for (const auto& entry : sorted_entries(kAcdcReader, folder)) {
      if (entry.path().filename().string().starts_with(kPatient))
        add_volumes(entry.path(), volumes);
    }
  }
  FOVEA_CHECK(!volumes.empty(), FileError,
              fmt::format("dataset.root: {}: holds no patientNNN/patientNNN_frameFF.nii; see {}",
                          root.string(), kAcdcPage));
  return volumes;
}

// What the lists call the patient of a volume: "007" in the paper's, "patient007" below root.
std::string patient_of(const LabelledVolume& volume, PartsFrom from) {
  const std::string folder = volume.image.parent_path().filename().string();
  return from == PartsFrom::kPaper ? folder.substr(kPatient.size()) : folder;
}

std::vector<LabelledVolume> volumes_of(const Place& place, PartsFrom parts,
                                       std::vector<std::string>& notes) {
  const std::vector<LabelledVolume> all = find_volumes(place.root);
  std::vector<std::string> patients;
  for (const LabelledVolume& volume : all) patients.push_back(patient_of(volume, parts));
  std::vector<LabelledVolume> chosen;
  for (const std::int64_t i : places_of_part({kAcdcReader, parts, place.root / "splits", {}},
                                             place.split, patients, notes))
    chosen.push_back(all[static_cast<std::size_t>(i)]);
  FOVEA_CHECK(!chosen.empty() || place.split != Split::kTrain, FileError,
              fmt::format("dataset.root: {}: holds no patient of train; see {}",
                          place.root.string(), kAcdcPage));
  return chosen;
}

std::vector<std::string> classes_of_heart() {
  return {"background", "right ventricle", "myocardium", "left ventricle"};
}

std::unique_ptr<Source> open_acdc(const Place& place, const AcdcOptions& o) {
  std::vector<std::string> notes;
  std::vector<LabelledVolume> chosen = volumes_of(place, o.parts, notes);
  if (chosen.empty()) return nullptr;
  SourceInfo info = slices_info(classes_of_heart(), o.img_size);
  return std::make_unique<VolumeSlices>(std::move(chosen), std::move(info), std::move(notes));
}

std::unique_ptr<VolumePart> open_whole(const Place& place, const WholeOptions& o) {
  std::vector<std::string> notes;
  std::vector<VolumeCase> cases;
  for (const LabelledVolume& volume : volumes_of(place, o.parts, notes))
    cases.push_back({{volume.image}, volume.labels, volume.image.string()});
  if (cases.empty()) return nullptr;
  return std::make_unique<NiftiVolumes>(
      std::move(cases), VolumeInfo{.class_names = classes_of_heart(), .label_values = {0, 1, 2, 3}},
      std::move(notes));
}

}  // namespace

FOVEA_DATASET(acdc_volumes, open_whole, "heart MRI, whole volumes with three structures", kAcdcPage,
              schema::Fields<WholeOptions>{}
                  .add_enum("parts", &WholeOptions::parts, parts_from_words(), kPartsFromHelp)
                  .names_files(part_lists)
                  .add("canonical", &WholeOptions::canonical, kCanonicalHelp))

FOVEA_DATASET(acdc, open_acdc, "heart MRI, slices with three structures", kAcdcPage,
              schema::Fields<AcdcOptions>{}
                  .add("img_size", &AcdcOptions::img_size, schema::in_range(8, 4096),
                       "slices are zoomed to this square after augmentation: cubic splines, labels "
                       "nearest (gdla 6.4)")
                  .add_enum("parts", &AcdcOptions::parts, parts_from_words(), kPartsFromHelp)
                  .names_files(part_lists))

}  // namespace fovea::data
