#include "metrics/detection/errors.h"

#include <algorithm>
#include <numeric>

namespace fovea::metrics {
namespace {

// An object and how much of it a detection overlaps.
struct Overlapped {
  std::int64_t object = -1;
  double iou = 0;
};

// The overlaps of an image's detections with its objects, and the objects that have been found.
class ImageOverlaps {
 public:
  ImageOverlaps(std::span<const TruthObject> truth, std::span<const DetectedObject> detections,
                Overlap overlap)
      : truth_(truth),
        detections_(detections),
        ious_(overlaps(detections, truth, overlap)),
        found_(truth.size()) {}

  /// The object with the largest overlap among those that `wanted` says yes to.
  template <class Wanted>
  Overlapped largest(std::size_t detection, const Wanted& wanted) const {
    Overlapped best;
    for (std::size_t g = 0; g < truth_.size(); ++g) {
      const double iou = ious_[detection * truth_.size() + g];
      if (iou > best.iou && wanted(g)) best = {static_cast<std::int64_t>(g), iou};
    }
    return best;
  }
  bool same_class(std::size_t detection, std::size_t object) const {
    return truth_[object].label == detections_[detection].label;
  }
  bool is_crowd(std::size_t object) const { return truth_[object].crowd; }
  bool is_found(std::size_t object) const { return found_[object]; }
  void find(std::int64_t object) { found_[static_cast<std::size_t>(object)] = true; }

 private:
  std::span<const TruthObject> truth_;
  std::span<const DetectedObject> detections_;
  std::vector<double> ious_;  // (detections, truth)
  std::vector<bool> found_;
};

struct Judged {
  DetectionKind kind = DetectionKind::kBackground;
  std::int64_t object = -1;
};

// Of a detection that found nothing.
Judged judge(const ImageOverlaps& image, std::size_t d, const ErrorLimits& limits) {
  const Overlapped crowd =
      image.largest(d, [&](std::size_t g) { return image.is_crowd(g) && image.same_class(d, g); });
  if (crowd.iou >= limits.foreground) return {DetectionKind::kLeftOut};
  const Overlapped own =
      image.largest(d, [&](std::size_t g) { return !image.is_crowd(g) && image.same_class(d, g); });
  const Overlapped other = image.largest(
      d, [&](std::size_t g) { return !image.is_crowd(g) && !image.same_class(d, g); });
  if (own.iou >= limits.background && own.iou < limits.foreground)
    return {DetectionKind::kPlace, own.object};
  if (other.iou >= limits.foreground) return {DetectionKind::kClass, other.object};
  if (own.iou >= limits.foreground) return {DetectionKind::kTwice, own.object};
  if (other.iou >= limits.background) return {DetectionKind::kClassAndPlace, other.object};
  return {DetectionKind::kBackground};
}

}  // namespace

std::string name_of(DetectionKind kind) {
  constexpr std::array<const char*, kDetectionKinds> kNames = {
      "left out", "found", "place", "class", "twice", "background", "class and place"};
  return kNames[static_cast<std::size_t>(kind)];
}

DetectionErrors detection_errors(std::span<const TruthObject> truth,
                                 std::span<const DetectedObject> detections,
                                 std::int64_t num_classes, Overlap overlap,
                                 const ErrorLimits& limits) {
  check_objects(truth, detections, num_classes, overlap);
  ImageOverlaps image(truth, detections, overlap);
  DetectionErrors errors{std::vector(detections.size(), DetectionKind::kLeftOut),
                         std::vector<std::int64_t>(detections.size(), -1),
                         std::vector<bool>(truth.size())};
  std::vector<std::size_t> order(detections.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t d) { return detections[d].score < limits.least_score; });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return detections[a].score > detections[b].score;
  });
  for (const std::size_t d : order) {
    const Overlapped best = image.largest(d, [&](std::size_t g) {
      return image.same_class(d, g) && !image.is_crowd(g) && !image.is_found(g);
    });
    if (best.object < 0 || best.iou < limits.foreground) continue;
    image.find(best.object);
    errors.kinds[d] = DetectionKind::kFound;
    errors.objects[d] = best.object;
  }
  for (std::size_t g = 0; g < truth.size(); ++g)
    errors.missed[g] = !image.is_crowd(g) && !image.is_found(g);
  for (const std::size_t d : order) {
    if (errors.kinds[d] == DetectionKind::kFound) continue;
    const Judged judged = judge(image, d, limits);
    errors.kinds[d] = judged.kind;
    errors.objects[d] = judged.object;
    if (judged.kind == DetectionKind::kPlace || judged.kind == DetectionKind::kClass)
      errors.missed[static_cast<std::size_t>(judged.object)] = false;
  }
  return errors;
}

void ErrorCounts::add(const DetectionErrors& image) {
  for (const DetectionKind kind : image.kinds) ++of_kind[static_cast<std::size_t>(kind)];
  missed += std::count(image.missed.begin(), image.missed.end(), true);
}

}  // namespace fovea::metrics
