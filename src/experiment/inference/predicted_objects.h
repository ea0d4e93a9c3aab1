// What detectors find, written image by image in COCO's format of results.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/boxes/box_dataset.h"
#include "experiment/inference/predict_journal.h"
#include "metrics/detection/coco_results.h"

namespace fovea::experiment {

/// boxes.json and, of detectors that make masks, masks.json.
class PredictedObjects {
 public:
  /// Opens them, or goes on with them, where the journal says.
  PredictedObjects(PredictJournal& journal, const data::BoxDataset& boxes, bool masks);
  /// What was found in an input; the id of an image is its index + 1.
  void add(std::int64_t index, std::span<const metrics::DetectedObject> found);
  /// Ends the lists; nothing is added any more.
  void close();

 private:
  struct Growing {
    io::File& file;
    metrics::CocoResults format;
  };
  std::vector<Growing> files_;
};

}  // namespace fovea::experiment
