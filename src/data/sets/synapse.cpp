// Synapse: abdominal CT with eight organs (BTCV), in the form that TransUNet's authors prepared:
// slices to train on, whole volumes to test. gdla 6.4.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "data/files/hdf5/hdf5.h"
#include "data/files/numpy.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"
#include "data/parts/published_parts.h"
#include "data/registry.h"
#include "data/volumes/volume_slices.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSynapseReader = "synapse";
constexpr const char* kSynapsePage = "datasets/synapse.md";
constexpr const char* kTrainList = "lists_Synapse/train.txt";
constexpr const char* kTestList = "lists_Synapse/test_vol.txt";
constexpr std::string_view kSlice = "_slice", kVolumeEnding = ".npy.h5", kSliceEnding = ".npz";
constexpr std::size_t kOrgans = 9;  // with the background

struct SynapseOptions : ImageOptions {
  static constexpr Kind kKind = Kind::kLabelMaps;
  SynapseOptions() { split.by_group = "(case\\d+)"; }
  std::int64_t img_size = 224;
  PartsFrom parts = PartsFrom::kPaper;
  std::vector<std::string> classes = {"background",  "spleen",      "right kidney",
                                      "left kidney", "gallbladder", "pancreas",
                                      "liver",       "stomach",     "aorta"};

  std::optional<SampleShape> sample_shape() const {
    return SampleShape{.channels = 1,
                       .height = img_size,
                       .width = img_size,
                       .classes = static_cast<std::int64_t>(kOrgans),
                       .label_maps = true};
  }
};

VolumeFormat::Both read_slice(const LabelledVolume& slice) {
  auto arrays = decode_npz(io::read_bytes(slice.image, kMaxArrayBytes), {"image", "label"},
                           slice.image.string());
  const auto as_volume = [&](const std::string& key) {
    NumpyArray& array = arrays.at(key);
    FOVEA_CHECK(array.shape.size() == 2 && !array.values.empty(), FileError,
                fmt::format("{}: {} is an array of {} axes with {} values; expected rows and "
                            "columns",
                            slice.image.string(), key, array.shape.size(), array.values.size()));
    Volume volume;
    static_cast<VolumeSize&>(volume) = {1, array.shape[0], array.shape[1]};
    volume.values = std::move(array.values);
    return volume;
  };
  return {as_volume("image"), as_volume("label")};
}

VolumeFormat slice_format() {
  VolumeFormat format;
  format.size = [](const LabelledVolume&) { return VolumeSize{1, 0, 0}; };
  format.read = read_slice;
  format.unit = true;
  return format;
}

VolumeFormat hdf5_format() {
  VolumeFormat format;
  format.size = [](const LabelledVolume& volume) { return read_hdf5_size(volume.image, "image"); };
  format.read = [](const LabelledVolume& volume) {
    return VolumeFormat::Both{read_hdf5_volume(volume.image, "image"),
                              read_hdf5_volume(volume.labels, "label")};
  };
  format.unit = true;
  return format;
}

// Files of a folder by their names without the ending, in byte order.
std::vector<LabelledVolume> files_with(const fs::path& folder, std::string_view ending) {
  std::vector<LabelledVolume> files;
  std::error_code code;
  if (!fs::is_directory(folder, code)) return files;
  for (const auto& entry : sorted_entries(kSynapseReader, folder)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(ending)) continue;
    name.erase(name.size() - ending.size());
    files.push_back({entry.path(), entry.path(), name});
  }
  return files;
}

std::string case_of(const LabelledVolume& file) {
  return file.name.substr(0, file.name.find(kSlice));
}

// Slices in the order of their numbers make up the volumes of their cases.
void note_volumes(std::vector<LabelledVolume>& slices) {
  std::map<std::string, std::int64_t> depth;
  for (LabelledVolume& file : slices) {
    const std::string volume = case_of(file);
    file.part_of = SliceOf{volume, depth[volume]++, 0, file.image};
  }
  for (LabelledVolume& file : slices) file.part_of->depth = depth.at(file.part_of->volume);
}

std::vector<LabelledVolume> listed(const std::vector<LabelledVolume>& all, const fs::path& list) {
  const std::map<std::string, int> lines = names_in_list(list);
  std::vector<LabelledVolume> chosen;
  std::vector<std::string> known;
  for (const LabelledVolume& file : all) {
    known.push_back(file.name);
    if (lines.contains(file.name)) chosen.push_back(file);
  }
  for (const auto& [name, line] : lines) {
    FOVEA_CHECK(std::find(known.begin(), known.end(), name) != known.end(), FileError,
                fmt::format("{}:{}: {}: no file of this name{}", list.string(), line, name,
                            did_you_mean(name, known)));
  }
  return chosen;
}

std::vector<LabelledVolume> files_of_part(const Place& place, const SynapseOptions& o,
                                          std::vector<std::string>& notes) {
  const bool train = place.split == Split::kTrain;
  const fs::path folder = place.root / (train ? "train_npz" : "test_vol_h5");
  const std::vector<LabelledVolume> all = files_with(folder, train ? kSliceEnding : kVolumeEnding);
  if (place.split == Split::kVal) return {};
  FOVEA_CHECK(!all.empty() || !train, FileError,
              fmt::format("dataset.root: {}: holds no caseXXXX_sliceYYY.npz; see {}",
                          folder.string(), kSynapsePage));
  std::error_code code;
  const fs::path list = place.root / (train ? kTrainList : kTestList);
  if (o.parts == PartsFrom::kLists && (train || fs::exists(list, code))) return listed(all, list);
  if (o.parts == PartsFrom::kLists) return {};
  std::vector<std::string> cases;
  for (const LabelledVolume& file : all) cases.push_back(case_of(file));
  std::vector<LabelledVolume> chosen;
  for (const std::int64_t i :
       places_of_part({kSynapseReader, o.parts, {}, {}}, place.split, cases, notes))
    chosen.push_back(all[static_cast<std::size_t>(i)]);
  return chosen;
}

std::unique_ptr<Source> open_synapse(const Place& place, const SynapseOptions& o) {
  std::error_code code;
  FOVEA_CHECK(
      fs::is_directory(place.root, code), FileError,
      fmt::format("dataset.root: {}: not found; see {}", place.root.string(), kSynapsePage));
  std::vector<std::string> notes;
  std::vector<LabelledVolume> files = files_of_part(place, o, notes);
  const bool train = place.split == Split::kTrain;
  if (files.empty()) {
    FOVEA_CHECK(!train, FileError,
                fmt::format("dataset.root: {}: holds no case of train; see {}", place.root.string(),
                            kSynapsePage));
    return nullptr;
  }
  if (train) note_volumes(files);
  return std::make_unique<VolumeSlices>(std::move(files), slices_info(o.classes, o.img_size),
                                        std::move(notes), train ? slice_format() : hdf5_format());
}

std::vector<fs::path> synapse_lists(const schema::Value& options) {
  if (options.at("parts").as_string() != "lists") return {};
  return lists_below(options.at("root").as_string(), {kTrainList, kTestList});
}

}  // namespace

FOVEA_DATASET(
    synapse, open_synapse, "abdominal CT, slices with eight organs", kSynapsePage,
    schema::Fields<SynapseOptions>{}
        .add("img_size", &SynapseOptions::img_size, schema::in_range(8, 4096),
             "slices are zoomed to this square after augmentation: cubic splines, labels nearest "
             "(gdla 6.4)")
        .add_enum("parts", &SynapseOptions::parts, parts_from_words(),
                  "paper: the 18 and 12 cases of the paper; lists: ROOT/lists_Synapse/train.txt "
                  "and test_vol.txt; all: every slice is train, for dataset.split")
        .names_files(synapse_lists)
        .add("classes", &SynapseOptions::classes,
             "names of the labels 0 to 8, for copies that number the organs otherwise")
        .check([](const SynapseOptions& o) {
          return o.classes.size() == kOrgans
                     ? std::string()
                     : fmt::format("{} classes are given; expected {}, the background first",
                                   o.classes.size(), kOrgans);
        }))

}  // namespace fovea::data
