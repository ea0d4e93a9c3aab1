// Slices of a case in three planes as one picture: truth, prediction, their contours and where they
// differ; and what is laid over them. dformer 8, figure 4.
#pragma once

#include <string>

#include "visualise/layouts/slice_pixels.h"

namespace fovea::visualise {

/// A column for each slice; rows: image, truth, prediction, both as contours, and errors; without
/// truth image, prediction and its contours. Below is what colours mean, with the Dice of each
/// class. Throws as check().
Canvas slices_figure(const std::string& title, const CaseVolume& volume, const SliceLook& look);

/// A4 upright at 150 pixels an inch.
inline constexpr double kPageWidth = 1240, kPageHeight = 1754;

/// The same columns; rows: image, and each map over it, in colours as heat_scale.h says, but at
/// least 0.01 apart: of what is even but for rounding nothing is seen. Without a factor the picture
/// fits a page. Throws as check(), and ShapeError for a case without maps.
Canvas maps_figure(const std::string& title, const CaseVolume& volume, const SliceLook& look);

}  // namespace fovea::visualise
