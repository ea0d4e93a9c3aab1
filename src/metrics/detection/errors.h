// Errors of detectors by kind, for reports and pictures: the kinds of TIDE (Bolya et al., "TIDE: A
// General Toolbox for Identifying Object Detection Errors", 2020).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metrics/detection/objects.h"

namespace fovea::metrics {

/// What a detection is. Overlaps are with the objects that are no crowds; the first kind that fits
/// counts.
enum class DetectionKind {
  kLeftOut,        // its score is below the least, or it lies in a crowd of its class
  kFound,          // it was matched with an object of its class
  kPlace,          // it overlaps one of its class by `background` or more, not by `foreground`
  kClass,          // it overlaps one of another class by `foreground`
  kTwice,          // it overlaps one of its class by `foreground`, which a higher score has found
  kBackground,     // it overlaps none by `background`
  kClassAndPlace,  // it overlaps one of another class by `background`, not by `foreground`
};
inline constexpr std::size_t kDetectionKinds = 7;
/// "left out", "found", "place", "class", "twice", "background", "class and place".
std::string name_of(DetectionKind kind);

struct ErrorLimits {
  double foreground = 0.5;  // an overlap from which on an object is found
  double background = 0.1;  // below it a detection has nothing to do with an object
  double least_score = 0;   // detections below it are left out
};

/// The detections and objects of an image, in the order in which they were given.
struct DetectionErrors {
  std::vector<DetectionKind> kinds;
  /// The object that a detection is matched with, or that it was meant for: the one whose overlap
  /// decided. -1 for kLeftOut and kBackground.
  std::vector<std::int64_t> objects;
  /// Objects that were not found and that no kPlace and no kClass was meant for. No crowds.
  std::vector<bool> missed;
};
/// Detections are matched with the objects of their class by falling score, each with the free
/// object of the largest overlap. Throws as check_objects().
DetectionErrors detection_errors(std::span<const TruthObject> truth,
                                 std::span<const DetectedObject> detections,
                                 std::int64_t num_classes, Overlap overlap,
                                 const ErrorLimits& limits = {});

/// Over a data set.
struct ErrorCounts {
  std::array<std::int64_t, kDetectionKinds> of_kind{};  // by DetectionKind
  std::int64_t missed = 0;

  void add(const DetectionErrors& image);
  std::int64_t count(DetectionKind kind) const { return of_kind[static_cast<std::size_t>(kind)]; }
};

}  // namespace fovea::metrics
