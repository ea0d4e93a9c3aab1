// Slices of a case in three planes as one picture: truth, prediction, their contours and where they
// differ; and what is laid over them. dformer 8, figure 4.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "visualise/drawing/colour_map.h"
#include "visualise/pages/case_volume.h"

namespace fovea::visualise {

struct SliceLook {
  std::int64_t slices = 3;             // of each plane
  std::optional<Sides3> through = {};  // instead: the one of this voxel in each, marked by a cross
  std::int64_t factor = 0;  // pixels of a voxel's least side; 0: what makes the longest side of the
                            // volume `longest` pixels
  double longest = 256;     // less in maps_figure(), where it would not fit a page
  std::int64_t thickness = 1;  // of contours, in pixels
  ColourMap colours = kHeat;   // of maps without sign
  double overlay = 0.5;        // share of the slice under a map
};

/// `count` slices of a plane, spread evenly over those with a class in truth or prediction, over
/// all where there is none. Ascending, fewer where there are fewer.
std::vector<std::int64_t> chosen_slices(const CaseVolume& volume, Plane plane, std::int64_t count);

/// "axial 12, 24.0 mm": the file's number of the slice, from 0, and how far it is from the file's
/// first.
std::string slice_label(const CaseVolume& volume, Plane plane, std::int64_t index);

/// Pixels (width, height) of a slice: voxels are as wide and high as their millimetres.
std::array<std::int64_t, 2> slice_pixels(const CaseVolume& volume, Plane plane,
                                         const SliceLook& look);

/// A column for each slice; rows: image, truth, prediction, both as contours, and errors. Below is
/// what colours mean, with the Dice of each class. Throws as check().
Canvas slices_figure(const std::string& title, const CaseVolume& volume, const SliceLook& look);

/// A4 upright at 150 pixels an inch.
inline constexpr double kPageWidth = 1240, kPageHeight = 1754;

/// The same columns; rows: image, and each map over it, in colours as heat_scale.h says, but at
/// least 0.01 apart: of what is even but for rounding nothing is seen. Without a factor the picture
/// fits a page. Throws as check(), and ShapeError for a case without maps.
Canvas maps_figure(const std::string& title, const CaseVolume& volume, const SliceLook& look);

}  // namespace fovea::visualise
