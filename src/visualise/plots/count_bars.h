// Counts as bars with names: what went wrong how often, cut into the classes that it happened to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

struct CountBars {
  std::string title;
  std::string label;                 // of the axis: "detections"
  std::vector<std::string> names;    // of the bars, from top to bottom
  std::vector<std::string> parts;    // of every bar, from left to right
  std::vector<std::int64_t> counts;  // (names, parts) row-major, >= 0
};

/// More parts than this have one colour together.
inline constexpr std::size_t kMostBarParts = 12;

/// Each bar with its sum behind it. Parts have the colours of classes (class_colour, the first that
/// of class 1), and a legend where there are several. Throws ShapeError unless there is a bar and a
/// part, and a count for each, NumericError for negative counts.
Canvas render(const CountBars& bars, double scale = 2);
std::string to_svg(const CountBars& bars);

}  // namespace fovea::visualise
