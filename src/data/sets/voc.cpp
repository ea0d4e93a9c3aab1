// Pascal VOC (M. Everingham et al., "The Pascal visual object classes challenge: a retrospective",
// IJCV 2015) and sets in its layout: Annotations/*.xml, JPEGImages, ImageSets/Main/*.txt.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/shown.h"
#include "base/suggest.h"
#include "data/files/voc_xml.h"
#include "data/parts/image_pairs.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVocReader = "voc";
constexpr const char* kVocPage = "datasets/voc.md";

/// What becomes of objects that are marked as difficult.
enum class Difficult { kCrowd, kObject, kSkip };

struct VocOptions : BoxOptions {
  std::string train_list = "train";
  std::string val_list = "val";
  std::string test_list = "test";
  std::vector<std::string> classes;
  Difficult difficult = Difficult::kCrowd;
  bool exif = false;
  std::optional<SampleShape> sample_shape() const {
    if (classes.empty()) return std::nullopt;
    return usual_shape(std::ssize(classes));
  }

  const std::string& list_of(Split part) const {
    return part == Split::kTrain ? train_list : part == Split::kVal ? val_list : test_list;
  }
  fs::path file_of(const fs::path& place, Split part) const {
    return place / "ImageSets" / "Main" / (list_of(part) + ".txt");
  }
  bool has_part(const fs::path& place, Split part) const {
    std::error_code code;
    return !list_of(part).empty() && fs::exists(file_of(place, part), code);
  }
  bool lists_test() const { return has_part(root, Split::kTest); }
};

// The names of a part, none of which may be in another part too.
std::map<std::string, int> names_of(const fs::path& root, Split split, const VocOptions& o) {
  const fs::path file = o.file_of(root, split);
  const std::map<std::string, int> names = names_in_list(file);
  for (const Split other : {Split::kTrain, Split::kVal, Split::kTest}) {
    if (other == split || !o.has_part(root, other)) continue;
    for (const auto& [name, line] : names_in_list(o.file_of(root, other))) {
      const auto found = names.find(name);
      FOVEA_CHECK(found == names.end(), FileError,
                  fmt::format("{}:{}: {} is also in {}", file.string(), found->second, name,
                              o.file_of(root, other).filename().string()));
    }
  }
  return names;
}

// The annotation of an image, or what is wrong with it.
struct ReadAnnotation {
  std::string name;
  VocAnnotation annotation;
  std::string error;
};

std::vector<ReadAnnotation> read_annotations(const fs::path& root, Split split,
                                             const VocOptions& o) {
  FOVEA_CHECK(o.has_part(root, split), FileError,
              fmt::format("dataset.root: {}: not found; see {}", o.file_of(root, split).string(),
                          kVocPage));
  std::vector<ReadAnnotation> all;
  for (const auto& [name, line] : names_of(root, split, o)) {
    all.push_back({name, {}, ""});
    const fs::path file = root / "Annotations" / (name + ".xml");
    try {
      all.back().annotation = parse_voc(io::read_text(file), file.string());
    } catch (const FileError& error) {
      all.back().error = error.what();
    }
  }
  return all;
}

std::vector<std::string> classes_found(const std::vector<ReadAnnotation>& train) {
  std::set<std::string> names;
  for (const ReadAnnotation& one : train) {
    for (const VocObject& object : one.annotation.objects) names.insert(object.name);
  }
  FOVEA_CHECK(
      !names.empty(), FileError,
      fmt::format("{}: no annotation of train has an object{}", kVocReader,
                  train.front().error.empty() ? "" : "; the first: " + train.front().error));
  return {names.begin(), names.end()};
}

// The picture of a name; VOC's own are .jpg.
fs::path picture_of(const fs::path& root, const std::string& name) {
  std::error_code code;
  const fs::path folder = root / "JPEGImages";
  for (const char* ending : {".jpg", ".jpeg", ".png", ".bmp", ".JPG", ".JPEG", ".PNG"}) {
    if (fs::exists(folder / (name + ending), code)) return folder / (name + ending);
  }
  throw FileError(
      fmt::format("{}: no picture of this name; expected {}.jpg", folder.string(), name));
}

class VocPart final : public BoxedFiles {
 public:
  VocPart(const Place& place, const VocOptions& o) : o_(o) {
    std::vector<ReadAnnotation> own = read_annotations(place.root, place.split, o);
    BoxInfo info;
    info.exif = o.exif ? Exif::kApply : Exif::kIgnore;
    info.class_names = o.classes;
    if (o.classes.empty()) {
      info.class_names = classes_found(
          place.split == Split::kTrain ? own : read_annotations(place.root, Split::kTrain, o));
    }
    describe(std::move(info));
    for (ReadAnnotation& one : own) {
      BoxedImage image;
      const fs::path file = place.root / "Annotations" / (one.name + ".xml");
      image.name = (place.root / "JPEGImages" / (one.name + ".jpg")).string();
      try {
        FOVEA_CHECK(one.error.empty(), FileError, one.error);
        image.name = picture_of(place.root, one.name).string();
        fill(image, one.annotation, file);
      } catch (const FileError& error) {
        problems_.push_back({size(), error.what()});
        image.objects.clear();
      }
      other_files_.push_back(file);
      add(std::move(image));
    }
    note_skipped(kVocReader);
    if (other_classes_ > 0) {
      notes_.push_back(
          fmt::format("{}: {} objects of {} are of classes that dataset.classes does "
                      "not name, and are left out",
                      kVocReader, other_classes_, name_of(place.split)));
    }
  }

 private:
  void fill(BoxedImage& image, const VocAnnotation& annotation, const fs::path& file) {
    image.height = annotation.height;
    image.width = annotation.width;
    if (image.height == 0 || image.width == 0) {
      const Image picture = read_file(image.name);
      image.height = picture.height;
      image.width = picture.width;
    }
    const std::vector<std::string>& classes = class_names();
    for (const VocObject& object : annotation.objects) {
      const auto record = &object - annotation.objects.data();
      if (object.difficult && o_.difficult == Difficult::kSkip) continue;
      const auto known = std::find(classes.begin(), classes.end(), object.name);
      if (known == classes.end() && !o_.classes.empty()) {
        ++other_classes_;
        continue;
      }
      FOVEA_CHECK(
          known != classes.end(), FileError,
          fmt::format("{}: object {} is of class \"{}\", which train does not have (all can be "
                      "named in dataset.classes){}",
                      file.string(), record + 1, shown(object.name),
                      did_you_mean(object.name, classes)));
      BoxedObject made;
      // Pixels of VOC are counted from 1. As mmdet, which takes 1 from all four sides, and so
      // leaves the last row and column outside.
      for (std::size_t side = 0; side < 4; ++side) made.box[side] = object.bndbox[side] - 1;
      made.label = known - classes.begin();
      made.crowd = object.difficult && o_.difficult == Difficult::kCrowd;
      made.area = made.width() * made.height();
      made.record = record;
      image.objects.push_back(made);
    }
  }

  VocOptions o_;
  std::int64_t other_classes_ = 0;
};

std::unique_ptr<BoxPart> open_voc(const Place& place, const VocOptions& o) {
  if (place.split != Split::kTrain && !o.has_part(place.root, place.split)) return nullptr;
  return std::make_unique<VocPart>(place, o);
}

schema::Fields<VocOptions> voc_fields() {
  using O = VocOptions;
  return schema::Fields<O>{}
      .add("train_list", &O::train_list,
           "list of train in ImageSets/Main, without ending, e.g. \"trainval\"")
      .add("val_list", &O::val_list, "list of val; \"\": none")
      .add("test_list", &O::test_list, "list of test; \"\": none")
      .names_files([](const schema::Value& o) {
        std::vector<std::string> names;
        for (const char* key : {"train_list", "val_list", "test_list"}) {
          if (const std::string& list = o.at(key).as_string(); !list.empty())
            names.push_back("ImageSets/Main/" + list + ".txt");
        }
        return lists_below(o.at("root").as_string(), names);
      })
      .add("classes", &O::classes,
           "names of the classes in their order, objects of others are left out; empty: those of "
           "train, sorted")
      .add_enum("difficult", &O::difficult,
                {{"crowd", Difficult::kCrowd},
                 {"object", Difficult::kObject},
                 {"skip", Difficult::kSkip}},
                "difficult objects count as crowds, which are neither found nor missed, as any "
                "object, or are left out")
      .add("exif", &O::exif, "turn images as the EXIF orientation of their JPEG files says")
      .check([](const O& o) { return classes_problem(o.classes); });
}

}  // namespace

FOVEA_DATASET(voc, open_voc, "images with boxes in the layout of Pascal VOC", kVocPage,
              voc_fields())

}  // namespace fovea::data
