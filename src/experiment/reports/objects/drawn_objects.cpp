#include "experiment/reports/objects/drawn_objects.h"

#include "base/mask_runs.h"

namespace fovea::experiment {
namespace {

template <class Object>
visualise::DrawnObject drawn_object(const Object& object) {
  const metrics::ObjectBox& box = object.box;
  visualise::DrawnObject result{.box = {box.x, box.y, box.x + box.width, box.y + box.height},
                                .label = object.label};
  if (object.mask) result.mask = decode_mask(*object.mask);
  return result;
}

}  // namespace

std::vector<visualise::DrawnObject> drawn(const std::vector<metrics::TruthObject>& truth) {
  std::vector<visualise::DrawnObject> result;
  for (const metrics::TruthObject& object : truth) result.push_back(drawn_object(object));
  return result;
}

std::vector<visualise::DrawnObject> drawn(const std::vector<metrics::DetectedObject>& found,
                                          double least) {
  std::vector<visualise::DrawnObject> result;
  for (const metrics::DetectedObject& object : found) {
    if (object.score < least) continue;
    result.push_back(drawn_object(object));
    result.back().score = object.score;
  }
  return result;
}

}  // namespace fovea::experiment
