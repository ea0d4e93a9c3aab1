// Slices of a case in three planes: which are chosen, how large they are, and their pictures.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"
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

/// `count` slices of a plane, spread evenly over those with a class in truth, prediction or `more`
/// labels of all voxels, over all where there is none. Ascending, fewer where there are fewer.
std::vector<std::int64_t> chosen_slices(const CaseVolume& volume, Plane plane, std::int64_t count,
                                        std::span<const std::vector<std::uint8_t>> more = {});

/// "axial 12, 24.0 mm": the file's number of the slice, from 0, and how far it is from the file's
/// first.
std::string slice_label(const CaseVolume& volume, Plane plane, std::int64_t index);

/// Pixels (width, height) of a slice: voxels are as wide and high as their millimetres.
std::array<std::int64_t, 2> slice_pixels(const CaseVolume& volume, Plane plane,
                                         const SliceLook& look);

/// One slice of a case.
struct ShownSlice {
  Plane plane;
  std::int64_t index;
};

/// The voxels of a slice as pixels. What it refers to outlives it.
class SlicePixels {
 public:
  SlicePixels(const CaseVolume& volume, const ShownSlice& slice, const SliceLook& look);

  /// In grey, as the window of the case has it.
  Canvas image() const;
  /// Classes in their colours, `share` of them, over the image.
  Canvas classes(const std::vector<std::uint8_t>& labels, double share = 0.55) const;
  /// The truth's wide, in the colour of the class, and the prediction's on it in white; without
  /// truth the prediction's in the colour of the class. Over the darkened image.
  Canvas contours() const;
  /// Errors by their kinds over the image; of a case with truth.
  Canvas errors() const;
  /// Values in colours over `look.overlay` of the image.
  Canvas map(const CaseMap& map, const Limits& limits, ColourMap colours) const;
  /// With a cross at the voxel that the slice is chosen by, if it is, and the letters of the body
  /// at the edges, where there is room.
  Canvas marked(Canvas canvas) const;
  /// The values of voxels, (height, width) of pixels, each of the voxel that it lies in.
  template <class T>
  std::vector<T> of(const std::vector<T>& voxels) const {
    const std::vector<T> slice = slice_of<T>(voxels, v_.size, axes_, slice_.index);
    const std::int64_t rows = v_.size[axes_.row], cols = v_.size[axes_.col];
    const auto [width, height] = size_;
    std::vector<T> result;
    result.reserve(static_cast<std::size_t>(width * height));
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x)
        result.push_back(
            slice[static_cast<std::size_t>(y * rows / height * cols + x * cols / width)]);
    }
    return result;
  }

 private:
  void mark(Canvas& canvas) const;
  void letter(Canvas& canvas) const;

  const CaseVolume& v_;
  ShownSlice slice_;
  PlaneAxes axes_;
  const SliceLook& look_;
  std::array<std::int64_t, 2> size_;
};

}  // namespace fovea::visualise
