// COCO (T.-Y. Lin et al., "Microsoft COCO: common objects in context", ECCV 2014) and sets in its
// format: a JSON file of annotations and a folder of images for each part.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/shown.h"
#include "base/suggest.h"
#include "data/files/coco_json.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCocoReader = "coco";
constexpr const char* kCocoPage = "datasets/coco.md";
constexpr std::uint64_t kMaxCocoBytes = std::uint64_t{1} << 32;

struct CocoOptions : BoxOptions {
  std::string train_annotations = "annotations/instances_train2017.json";
  std::string train_images = "train2017";
  std::string val_annotations = "annotations/instances_val2017.json";
  std::string val_images = "val2017";
  std::string test_annotations;
  std::string test_images;
  std::string splits = "splits";
  std::vector<std::string> classes;
  bool exif = false;
  std::optional<SampleShape> sample_shape() const {
    if (classes.empty()) return std::nullopt;
    return usual_shape(std::ssize(classes));
  }

  const std::string& annotations_of(Split part) const {
    return part == Split::kTrain ? train_annotations
           : part == Split::kVal ? val_annotations
                                 : test_annotations;
  }
  const std::string& images_of(Split part) const {
    return part == Split::kTrain ? train_images : part == Split::kVal ? val_images : test_images;
  }
  // Lists choose the parts from the annotations of train.
  bool has_lists(const fs::path& place) const {
    return !splits.empty() && has_list(place / splits, Split::kTrain);
  }
  bool lists_test() const {
    return has_lists(root) ? has_list(fs::path(root) / splits, Split::kTest)
                           : !test_annotations.empty();
  }
};

// The class of every category, -1 for those that are not asked for.
std::vector<std::int64_t> classes_of(const CocoFile& file, const CocoOptions& o,
                                     const std::string& name, BoxInfo& info) {
  std::vector<std::string> names;
  for (const CocoCategory& category : file.categories) {
    FOVEA_CHECK(std::find(names.begin(), names.end(), category.name) == names.end(), FileError,
                fmt::format("{}: two categories are called \"{}\"", name, shown(category.name)));
    names.push_back(category.name);
  }
  FOVEA_CHECK(!names.empty(), FileError, fmt::format("{}: has no category", name));
  info.class_names = o.classes.empty() ? names : o.classes;
  std::vector<std::int64_t> classes(names.size(), -1);
  for (std::size_t k = 0; k < info.class_names.size(); ++k) {
    const auto found = std::find(names.begin(), names.end(), info.class_names[k]);
    FOVEA_CHECK(found != names.end(), ConfigError,
                fmt::format("dataset.classes: {} has no category \"{}\"{}", name,
                            info.class_names[k], did_you_mean(info.class_names[k], names)));
    const auto place = static_cast<std::size_t>(found - names.begin());
    classes[place] = static_cast<std::int64_t>(k);
    info.category_ids.push_back(file.categories[place].id);
  }
  return classes;
}

class CocoPart final : public BoxedFiles {
 public:
  CocoPart(const Place& place, const CocoOptions& o, Split from)
      : path_(place.root / o.annotations_of(from)), file_(read(o.masks)) {
    BoxInfo info;
    info.has_masks = true;
    info.exif = o.exif ? Exif::kApply : Exif::kIgnore;
    const std::vector<std::int64_t> classes = classes_of(file_, o, path_.string(), info);
    describe(std::move(info));
    std::vector<BoxedImage> images = all_images(place.root / o.images_of(from));
    std::int64_t left_out = 0;
    for (std::size_t k = 0; k < file_.annotations.size(); ++k) {
      const CocoAnnotation& annotation = file_.annotations[k];
      const std::int64_t label = classes[static_cast<std::size_t>(annotation.category)];
      if (label < 0) {
        ++left_out;
        continue;
      }
      const auto [x, y, width, height] = annotation.bbox;
      BoxedObject object;
      object.box = {x, y, x + width, y + height};
      object.label = label;
      object.crowd = annotation.crowd;
      object.area = annotation.area;
      object.record = static_cast<std::int64_t>(k);
      images[static_cast<std::size_t>(annotation.image)].objects.push_back(object);
    }
    choose(std::move(images), place, o, from);
    other_files_ = {path_};
    note_skipped(kCocoReader);
    if (left_out > 0) {
      notes_.push_back(
          fmt::format("{}: {}: {} of {} objects are of categories that "
                      "dataset.classes does not name, and are left out",
                      kCocoReader, path_.string(), left_out, file_.annotations.size()));
    }
  }

  using BoxedFiles::read;

  std::vector<MaskRuns> read_masks(std::int64_t index) const override {
    std::vector<MaskRuns> masks;
    for (const BoxedObject& object : image(index).objects) {
      const CocoAnnotation& annotation = file_.annotations[static_cast<std::size_t>(object.record)];
      masks.push_back(
          file_.mask_of(annotation, fmt::format("{}: annotation {} (id {})", path_.string(),
                                                object.record + 1, annotation.id)));
    }
    return masks;
  }

 private:
  CocoFile read(bool outlines) const {
    std::error_code code;
    FOVEA_CHECK(fs::exists(path_, code), FileError,
                fmt::format("dataset.root: {}: not found; see {}", path_.string(), kCocoPage));
    return parse_coco(io::read_text(path_, kMaxCocoBytes), path_.string(), outlines);
  }

  std::vector<BoxedImage> all_images(const fs::path& folder) const {
    std::vector<BoxedImage> images;
    images.reserve(file_.images.size());
    for (const CocoImage& image : file_.images)
      images.push_back({(folder / image.file_name).string(), image.height, image.width, image.id});
    return images;
  }

  // Adds the images of the part, in the order of the file.
  void choose(std::vector<BoxedImage> images, const Place& place, const CocoOptions& o,
              Split from) {
    if (!o.has_lists(place.root)) {
      for (BoxedImage& image : images) add(std::move(image));
    } else {
      const fs::path lists = place.root / o.splits;
      std::vector<ImagePair> all;
      std::unordered_map<std::string, std::size_t> places;
      for (std::size_t k = 0; k < images.size(); ++k) {
        all.push_back({images[k].name, {}});
        places.emplace(images[k].name, k);
      }
      std::sort(all.begin(), all.end(), [](const ImagePair& a, const ImagePair& b) {
        return a.image.stem() < b.image.stem();
      });
      for (const ImagePair& pair : listed_pairs(all, lists, place.split, kCocoPage))
        add(std::move(images[places.at(pair.image.string())]));
    }
    FOVEA_CHECK(size() > 0, FileError,
                fmt::format("{}: holds no image for {}",
                            (place.root / o.annotations_of(from)).string(), name_of(place.split)));
  }

  fs::path path_;
  CocoFile file_;
};

std::unique_ptr<BoxPart> open_coco(const Place& place, const CocoOptions& o) {
  if (o.has_lists(place.root)) {
    if (place.split != Split::kTrain && !has_list(place.root / o.splits, place.split))
      return nullptr;
    return std::make_unique<CocoPart>(place, o, Split::kTrain);
  }
  std::error_code code;
  const std::string& file = o.annotations_of(place.split);
  if (place.split != Split::kTrain && (file.empty() || !fs::exists(place.root / file, code)))
    return nullptr;
  return std::make_unique<CocoPart>(place, o, place.split);
}

schema::Fields<CocoOptions> coco_fields() {
  using O = CocoOptions;
  return schema::Fields<O>{}
      .add("train_annotations", &O::train_annotations, "JSON file of train, below root")
      .add("train_images", &O::train_images, "folder of its images")
      .add("val_annotations", &O::val_annotations, "JSON file of val; \"\": none")
      .add("val_images", &O::val_images, "folder of its images")
      .add("test_annotations", &O::test_annotations, "JSON file of test; \"\": none")
      .add("test_images", &O::test_images, "folder of its images")
      .add("splits", &O::splits,
           "folder of train.txt and optionally val.txt and test.txt, one image a line; where it is "
           "there, they choose all parts from the images of train_annotations")
      .names_files([](const schema::Value& o) -> std::vector<fs::path> {
        const std::string folder = o.at("splits").as_string();
        if (folder.empty()) return {};
        return lists_below(o.at("root").as_string(), part_names(folder, ".txt"));
      })
      .add("classes", &O::classes,
           "names of the categories in their order, objects of others are left out; empty: all, in "
           "the order of their ids")
      .add("exif", &O::exif, "turn images as the EXIF orientation of their JPEG files says")
      .check([](const O& o) { return classes_problem(o.classes); });
}

}  // namespace

FOVEA_DATASET(coco, open_coco, "images with boxes and masks in the format of COCO", kCocoPage,
              coco_fields())

}  // namespace fovea::data
