#include "experiment/reports/objects/coco_files.h"

#include <numeric>
#include <utility>

#include "base/file.h"
#include "base/mask_runs.h"
#include "metrics/detection/coco_results.h"

namespace fovea::experiment {
namespace {

using schema::Value;

constexpr const char* kBoxesFile = "boxes.json";
constexpr const char* kMasksFile = "masks.json";
constexpr const char* kTruthFile = "truth.json";

Value coco_box(const metrics::ObjectBox& box) {
  return Value::array(std::vector<double>{box.x, box.y, box.width, box.height});
}

Value coco_mask(const MaskRuns& mask) {
  return Value::object({{"size", Value::array(std::vector<std::int64_t>{mask.height, mask.width})},
                        {"counts", mask_string(mask)}});
}

}  // namespace

std::vector<std::int64_t> category_ids(const data::BoxDataset& boxes) {
  if (!boxes.info().category_ids.empty()) return boxes.info().category_ids;
  std::vector<std::int64_t> ids(boxes.class_names().size());
  std::iota(ids.begin(), ids.end(), std::int64_t{1});
  return ids;
}

Value coco_annotations(const std::vector<training::DetectedImage>& images,
                       const CocoSamples& samples) {
  Value listed = Value::array(), categories = Value::array(), annotations = Value::array();
  for (std::size_t k = 0; k < samples.classes.size(); ++k)
    categories.push_back(
        Value::object({{"id", samples.category_ids[k]}, {"name", samples.classes[k]}}));
  std::int64_t id = 0;  // from 1: pycocotools takes the id 0 for no match
  for (std::size_t i = 0; i < images.size(); ++i) {
    listed.push_back(Value::object({{"id", samples.images[i].id},
                                    {"file_name", samples.images[i].file},
                                    {"height", images[i].height},
                                    {"width", images[i].width}}));
    for (const metrics::TruthObject& object : images[i].truth) {
      Value entry = Value::object(
          {{"id", ++id},
           {"image_id", samples.images[i].id},
           {"category_id", samples.category_ids[static_cast<std::size_t>(object.label)]},
           {"bbox", coco_box(object.box)},
           {"area", object.area},
           {"iscrowd", object.crowd ? 1 : 0}});
      if (object.mask) entry.set("segmentation", coco_mask(*object.mask));
      annotations.push_back(std::move(entry));
    }
  }
  return Value::object(
      {{"images", listed}, {"categories", categories}, {"annotations", annotations}});
}

std::vector<std::string> object_words(bool masks) {
  if (masks) return {kBoxesFile, kMasksFile, kTruthFile};
  return {kBoxesFile, kTruthFile};
}

std::vector<std::string> write_coco(const std::filesystem::path& folder,
                                    const std::set<std::string>& wanted,
                                    const std::vector<training::DetectedImage>& images,
                                    const CocoSamples& samples) {
  std::vector<std::string> files;
  for (const auto& [name, overlap] : {std::pair{kBoxesFile, metrics::Overlap::kBoxes},
                                      std::pair{kMasksFile, metrics::Overlap::kMasks}}) {
    if (!wanted.contains(name)) continue;
    metrics::CocoResults results(overlap, samples.category_ids);
    for (std::size_t i = 0; i < images.size(); ++i)
      results.add(samples.images[i].id, images[i].found);
    io::write_atomic(folder / name, results.text());
    files.emplace_back(name);
  }
  if (wanted.contains(kTruthFile)) {
    io::write_atomic(folder / kTruthFile, coco_annotations(images, samples).dump() + "\n");
    files.emplace_back(kTruthFile);
  }
  return files;
}

}  // namespace fovea::experiment
