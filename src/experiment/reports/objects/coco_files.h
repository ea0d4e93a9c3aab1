// What detectors find, and the truth, in the formats of COCO, which other programs score.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "data/boxes/box_dataset.h"
#include "schema/json/value.h"
#include "training/tasks/task_report.h"

namespace fovea::experiment {

/// The images and classes of a data set, as COCO calls them.
struct CocoImage {
  std::int64_t id = 0;
  std::string file;
};
struct CocoSamples {
  std::vector<CocoImage> images;
  std::vector<std::string> classes;
  std::vector<std::int64_t> category_ids;  // by label
};
/// COCO's own, or 1, 2, ... of other data sets.
std::vector<std::int64_t> category_ids(const data::BoxDataset& boxes);

/// The truth in the form of COCO's annotations: {"images", "categories", "annotations"}.
schema::Value coco_annotations(const std::vector<training::DetectedImage>& images,
                               const CocoSamples& samples);

/// What `eval --save` knows of detections, with masks or without.
std::vector<std::string> object_words(bool masks);
/// Writes boxes.json and masks.json (COCO's results, metrics::CocoResults) and truth.json
/// (annotations) where they are wanted, and returns their names. `images` are in the order of the
/// samples. Throws ShapeError for masks where none were found.
std::vector<std::string> write_coco(const std::filesystem::path& folder,
                                    const std::set<std::string>& wanted,
                                    const std::vector<training::DetectedImage>& images,
                                    const CocoSamples& samples);

}  // namespace fovea::experiment
