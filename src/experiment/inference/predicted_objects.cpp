#include "experiment/inference/predicted_objects.h"

#include "experiment/reports/objects/coco_files.h"

namespace fovea::experiment {
namespace {

constexpr std::string_view kBegin = "[", kEnd = "]\n";

}  // namespace

PredictedObjects::PredictedObjects(PredictJournal& journal, const data::BoxDataset& boxes,
                                   bool masks) {
  const std::vector<std::int64_t> ids = category_ids(boxes);
  files_.push_back({journal.file("boxes.json"), {metrics::Overlap::kBoxes, ids}});
  if (masks) files_.push_back({journal.file("masks.json"), {metrics::Overlap::kMasks, ids}});
  for (const Growing& growing : files_)
    if (growing.file.size() == 0) growing.file.write(kBegin);
}

void PredictedObjects::add(std::int64_t index, std::span<const metrics::DetectedObject> found) {
  for (const Growing& growing : files_) {
    const std::string lines = growing.format.lines_of(index + 1, found);
    if (lines.empty()) continue;
    const bool first = growing.file.size() == kBegin.size();
    growing.file.write((first ? "" : ",\n") + lines);
  }
}

void PredictedObjects::close() {
  for (const Growing& growing : files_) growing.file.write(kEnd);
}

}  // namespace fovea::experiment
