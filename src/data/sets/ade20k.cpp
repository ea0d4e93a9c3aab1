// ADE20K: scenes whose pixels are of 150 classes, as the benchmark of MIT has them. mala 7.3.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "data/images/label_values.h"
#include "data/images/paired_source.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr const char* kSceneReader = "ade20k";
constexpr const char* kScenePage = "datasets/ade20k.md";

// Of the values 1 to 150.
// clang-format off
constexpr std::array<const char*, 150> kSceneClasses = {
    "wall", "building", "sky", "floor", "tree", "ceiling", "road", "bed", "windowpane", "grass",
    "cabinet", "sidewalk", "person", "earth", "door", "table", "mountain", "plant", "curtain",
    "chair", "car", "water", "painting", "sofa", "shelf", "house", "sea", "mirror", "rug", "field",
    "armchair", "seat", "fence", "desk", "rock", "wardrobe", "lamp", "bathtub", "railing",
    "cushion", "base", "box", "column", "signboard", "chest of drawers", "counter", "sand", "sink",
    "skyscraper", "fireplace", "refrigerator", "grandstand", "path", "stairs", "runway", "case",
    "pool table", "pillow", "screen door", "stairway", "river", "bridge", "bookcase", "blind",
    "coffee table", "toilet", "flower", "book", "hill", "bench", "countertop", "stove", "palm",
    "kitchen island", "computer", "swivel chair", "boat", "bar", "arcade machine", "hovel", "bus",
    "towel", "light", "truck", "tower", "chandelier", "awning", "streetlight", "booth",
    "television receiver", "airplane", "dirt track", "apparel", "pole", "land", "bannister",
    "escalator", "ottoman", "bottle", "buffet", "poster", "stage", "van", "ship", "fountain",
    "conveyer belt", "canopy", "washer", "plaything", "swimming pool", "stool", "barrel", "basket",
    "waterfall", "tent", "bag", "minibike", "cradle", "oven", "ball", "food", "step", "tank",
    "trade name", "microwave", "pot", "animal", "bicycle", "lake", "dishwasher", "screen",
    "blanket", "sculpture", "hood", "sconce", "vase", "traffic light", "tray", "ashcan", "fan",
    "pier", "crt screen", "plate", "monitor", "bulletin board", "shower", "radiator", "glass",
    "clock", "flag"};
// clang-format on

struct SceneOptions : ImageOptions {
  static constexpr Kind kKind = Kind::kLabelMaps;
  std::int64_t img_size = 512;
  std::int64_t longest = 2048;

  std::optional<SampleShape> sample_shape() const {
    return SampleShape{.channels = 3,
                       .height = img_size,
                       .width = img_size,
                       .classes = std::ssize(kSceneClasses),
                       .label_maps = true};
  }
};

std::unique_ptr<Source> open_ade20k(const Place& place, const SceneOptions& o) {
  if (place.split == Split::kTest) return nullptr;  // its labels are not public
  const char* part = place.split == Split::kTrain ? "training" : "validation";
  std::error_code code;
  const PairFolders folders{place.root / "images" / part, place.root / "annotations" / part, ""};
  if (place.split == Split::kVal && !std::filesystem::is_directory(folders.images, code))
    return nullptr;
  std::vector<std::string> notes;
  std::vector<ImagePair> pairs = find_pairs(kSceneReader, kScenePage, folders, &notes);
  std::vector<int> values(kSceneClasses.size());
  std::iota(values.begin(), values.end(), 1);
  SourceInfo info;
  info.class_names.assign(kSceneClasses.begin(), kSceneClasses.end());
  info.height = info.width = o.img_size;
  info.longest = o.longest;
  info.mean = {0.485, 0.456, 0.406};
  info.std = {0.229, 0.224, 0.225};
  info.masks = Masks::kLabels;
  info.background = false;  // what is no class is ignored
  info.label_values = values;
  PairReading how{.rule = LabelRule(values, 0), .page = kScenePage};
  return std::make_unique<PairedSource>(std::move(pairs), std::move(info), std::move(how),
                                        std::move(notes));
}

schema::Fields<SceneOptions> ade20k_fields() {
  return schema::Fields<SceneOptions>{}
      .add("img_size", &SceneOptions::img_size, schema::in_range(8, 4096),
           "height and width of training samples, to which what augmentation leaves is resized; in "
           "evaluations the limit of the shorter side of whole pictures")
      .add("longest", &SceneOptions::longest, schema::in_range(0, 65536),
           "in evaluations the limit of the longer side: pictures keep their aspect ratio and are "
           "as large as both limits allow; 0: they are resized to the square of training")
      .check([](const SceneOptions& o) {
        return o.longest == 0 || o.longest >= o.img_size
                   ? std::string()
                   : std::string("longest is below img_size; expected 0 or as much at least");
      });
}

}  // namespace

FOVEA_DATASET(ade20k, open_ade20k, "scenes, 150 classes, a label for every pixel", kScenePage,
              ade20k_fields())

}  // namespace fovea::data
