// Images with label images, in which 0 is the background and k the k-th object: cells and nuclei,
// as in the 2018 Data Science Bowl (J. C. Caicedo et al., Nature Methods 2019).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstancesReader = "instance_labels";
constexpr const char* kInstancesPage = "datasets/instance_labels.md";

struct InstanceOptions : BoxOptions {
  std::string images = "images";
  std::string labels = "labels";
  std::string label_suffix;
  std::string splits = "splits";
  std::string class_name = "object";
  std::optional<SampleShape> sample_shape() const { return usual_shape(1); }
  bool lists_test() const {
    return has_lists(root) && has_list(fs::path(root) / splits, Split::kTest);
  }
  bool has_lists(const fs::path& place) const {
    return !splits.empty() && has_list(place / splits, Split::kTrain);
  }
};

// A label image with values of 8 or 16 bits. Throws FileError.
Image read_label_image(const fs::path& file) {
  MaskFile labels = read_mask_file(file, MaskPixels::kStored);
  FOVEA_CHECK(!labels.lossy, FileError,
              fmt::format("{}: is a JPEG file, which does not keep exact values; expected PNG",
                          file.string()));
  return std::move(labels.image);
}

// Extent and pixels of each value but 0, ascending by value.
std::vector<BoxedObject> objects_in(const Image& labels) {
  std::map<int, BoxedObject> found;
  visit_values(labels, [&](const auto& values) {
    for (std::int64_t i = 0; i < labels.height; ++i) {
      for (std::int64_t j = 0; j < labels.width; ++j) {
        const int value = values[static_cast<std::size_t>(i * labels.width + j)];
        if (value == 0) continue;
        const auto y = static_cast<double>(i), x = static_cast<double>(j);
        const auto [place, added] = found.try_emplace(value);
        BoxedObject& object = place->second;
        if (added) object.box = {x, y, x + 1, y + 1};
        object.box = {std::min(object.box[0], x), std::min(object.box[1], y),
                      std::max(object.box[2], x + 1), std::max(object.box[3], y + 1)};
        ++object.area;
      }
    }
  });
  std::vector<BoxedObject> objects;
  for (auto& [value, object] : found) {
    object.record = value;
    objects.push_back(object);
  }
  return objects;
}

class InstancePart final : public BoxedFiles {
 public:
  InstancePart(std::vector<ImagePair> pairs, const InstanceOptions& o) : pairs_(std::move(pairs)) {
    BoxInfo info;
    info.class_names = {o.class_name};
    info.has_masks = true;
    describe(std::move(info));
    for (const ImagePair& pair : pairs_) {
      BoxedImage image;
      image.name = pair.image.string();
      try {
        const Image labels = read_label_image(pair.mask);
        image.height = labels.height;
        image.width = labels.width;
        image.objects = objects_in(labels);
      } catch (const FileError& error) {
        problems_.push_back({size(), error.what()});
      }
      other_files_.push_back(pair.mask);
      add(std::move(image));
    }
  }

  std::vector<MaskRuns> read_masks(std::int64_t index) const override {
    const BoxedImage& known = image(index);
    const fs::path& file = pairs_[static_cast<std::size_t>(index)].mask;
    const Image labels = read_label_image(file);
    FOVEA_CHECK(labels.height == known.height && labels.width == known.width, FileError,
                fmt::format("{}: has changed since the data set was opened", file.string()));
    // Down the columns, as runs are counted: where each value begins and ends.
    std::map<int, std::vector<std::int64_t>> turns;
    visit_values(labels, [&](const auto& values) {
      int last = 0;
      std::int64_t at = 0;
      for (std::int64_t j = 0; j < labels.width; ++j) {
        for (std::int64_t i = 0; i < labels.height; ++i, ++at) {
          const int value = values[static_cast<std::size_t>(i * labels.width + j)];
          if (value == last) continue;
          if (last != 0) turns[last].push_back(at);
          if (value != 0) turns[value].push_back(at);
          last = value;
        }
      }
      if (last != 0) turns[last].push_back(at);
    });
    std::vector<MaskRuns> masks;
    for (const BoxedObject& object : known.objects) {
      std::vector<std::int64_t> runs;
      std::int64_t before = 0;
      for (const std::int64_t turn : turns[static_cast<int>(object.record)]) {
        runs.push_back(turn - before);
        before = turn;
      }
      runs.push_back(labels.height * labels.width - before);
      masks.push_back(mask_from_runs(runs, labels.height, labels.width,
                                     fmt::format("{}: object {}", file.string(), object.record)));
    }
    return masks;
  }

 private:
  std::vector<ImagePair> pairs_;
};

std::unique_ptr<BoxPart> open_instance_labels(const Place& place, const InstanceOptions& o) {
  const std::vector<ImagePair> all =
      find_pairs(kInstancesReader, kInstancesPage,
                 {place.root / o.images, place.root / o.labels, o.label_suffix});
  if (!o.has_lists(place.root)) {
    FOVEA_CHECK(o.split.cuts_val() || o.split.cuts_test(), FileError,
                fmt::format("dataset.splits: {}: not found; list the names of each part there, or "
                            "set dataset.split.test; see {}",
                            (place.root / o.splits / "train.txt").string(), kInstancesPage));
    if (place.split != Split::kTrain) return nullptr;
    return std::make_unique<InstancePart>(all, o);
  }
  const fs::path lists = place.root / o.splits;
  if (place.split != Split::kTrain && !has_list(lists, place.split)) return nullptr;
  return std::make_unique<InstancePart>(listed_pairs(all, lists, place.split, kInstancesPage), o);
}

schema::Fields<InstanceOptions> instance_fields() {
  using O = InstanceOptions;
  return schema::Fields<O>{}
      .add("images", &O::images, "folder of the images")
      .add("labels", &O::labels,
           "folder of the label images, PNG of 8 or 16 bits: 0 background, k the k-th object")
      .add("label_suffix", &O::label_suffix,
           "what the name of a label image has after that of its image; the endings may differ")
      .add("splits", &O::splits,
           "folder of train.txt and optionally val.txt and test.txt below root, one name a line")
      .names_files([](const schema::Value& o) -> std::vector<fs::path> {
        const std::string folder = o.at("splits").as_string();
        if (folder.empty()) return {};
        return lists_below(o.at("root").as_string(), part_names(folder, ".txt"));
      })
      .add("class_name", &O::class_name, "what all objects are");
}

}  // namespace

FOVEA_DATASET(instance_labels, open_instance_labels,
              "images with label images, in which every object has a value", kInstancesPage,
              instance_fields())

}  // namespace fovea::data
