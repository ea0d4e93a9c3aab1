// ACDC: short-axis heart MRI at end diastole and end systole (Bernard et al., IEEE TMI 2018), slice
// by slice as in gdla 6.4.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "data/folder.h"
#include "data/published_parts.h"
#include "data/registry.h"
#include "data/volume_slices.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReader = "acdc";
constexpr const char* kPage = "datasets/acdc.md";
constexpr std::string_view kPatient = "patient";
constexpr const char* kByPatient = "patient(\\d+)";

struct Options : ImageOptions {
  static constexpr Kind kKind = Kind::kLabelMaps;
  Options() { split.by_group = kByPatient; }
  std::int64_t img_size = 224;
  PartsFrom parts = PartsFrom::kPaper;

  std::optional<SampleShape> sample_shape() const {
    return SampleShape{
        .channels = 1, .height = img_size, .width = img_size, .classes = 4, .label_maps = true};
  }
};

std::string without_nifti_ending(const std::string& name) {
  return name.substr(0, name.find(".nii"));
}

// <patient>_frameFF.nii[.gz] with <patient>_frameFF_gt.nii[.gz]; the film of all frames, which has
// no labels, is left alone.
void add_volumes(const fs::path& folder, std::vector<LabelledVolume>& volumes) {
  std::map<std::string, fs::path> files;
  for (const auto& entry : sorted_entries(kReader, folder)) {
    if (has_nifti_extension(entry.path()))
      files.emplace(without_nifti_ending(entry.path().filename().string()), entry.path());
  }
  for (const auto& [name, path] : files) {
    if (name.ends_with("_gt") || name.find("_frame") == std::string::npos) continue;
    const auto labels = files.find(name + "_gt");
    FOVEA_CHECK(labels != files.end(), FileError,
                fmt::format("{}: {}: has no labels; expected {}_gt.nii or .nii.gz beside it",
                            kReader, path.string(), name));
    volumes.push_back({path, labels->second, name});
  }
}

// ROOT/patientNNN, or ROOT/training and ROOT/testing with such folders, as they are distributed.
std::vector<LabelledVolume> find_volumes(const fs::path& root) {
  std::error_code code;
  FOVEA_CHECK(fs::is_directory(root, code), FileError,
              fmt::format("dataset.root: {}: not found; see {}", root.string(), kPage));
  std::vector<LabelledVolume> volumes;
  for (const fs::path& folder : {root, root / "testing", root / "training"}) {
    if (!fs::is_directory(folder, code)) continue;
    for (const auto& entry : sorted_entries(kReader, folder)) {
      if (entry.path().filename().string().starts_with(kPatient))
        add_volumes(entry.path(), volumes);
    }
  }
  FOVEA_CHECK(!volumes.empty(), FileError,
              fmt::format("dataset.root: {}: holds no patientNNN/patientNNN_frameFF.nii; see {}",
                          root.string(), kPage));
  return volumes;
}

// What the lists call the patient of a volume: "007" in the paper's, "patient007" below root.
std::string patient_of(const LabelledVolume& volume, PartsFrom from) {
  const std::string folder = volume.image.parent_path().filename().string();
  return from == PartsFrom::kPaper ? folder.substr(kPatient.size()) : folder;
}

std::unique_ptr<Source> open(const Place& place, const Options& o) {
  const std::vector<LabelledVolume> all = find_volumes(place.root);
  std::vector<std::string> patients;
  for (const LabelledVolume& volume : all) patients.push_back(patient_of(volume, o.parts));
  std::vector<std::string> notes;
  std::vector<LabelledVolume> chosen;
  for (const std::int64_t i :
       places_of_part({kReader, o.parts, place.root / "splits", {}}, place.split, patients, notes))
    chosen.push_back(all[static_cast<std::size_t>(i)]);
  if (chosen.empty()) {
    FOVEA_CHECK(place.split != Split::kTrain, FileError,
                fmt::format("dataset.root: {}: holds no patient of train; see {}",
                            place.root.string(), kPage));
    return nullptr;
  }
  SourceInfo info =
      slices_info({"background", "right ventricle", "myocardium", "left ventricle"}, o.img_size);
  return std::make_unique<VolumeSlices>(std::move(chosen), std::move(info), std::move(notes));
}

}  // namespace

FOVEA_DATASET(acdc, open, "heart MRI, slices with three structures", kPage,
              schema::Fields<Options>{}
                  .add("img_size", &Options::img_size, schema::in_range(8, 4096),
                       "slices are zoomed to this square after augmentation: cubic splines, labels "
                       "nearest (gdla 6.4)")
                  .add_enum("parts", &Options::parts, parts_from_words(), kPartsFromHelp)
                  .names_files(part_lists))

}  // namespace fovea::data
