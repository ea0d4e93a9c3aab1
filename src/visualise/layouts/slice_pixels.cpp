#include "visualise/layouts/slice_pixels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "visualise/drawing/heatmap.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/layouts/overlay.h"

namespace fovea::visualise {
namespace {

constexpr double kDarker = 0.4;  // so that white is seen on bright tissue
constexpr double kLetterSize = 12;

}  // namespace

std::vector<std::int64_t> chosen_slices(const CaseVolume& v, Plane plane, std::int64_t count,
                                        std::span<const std::vector<std::uint8_t>> more) {
  const std::size_t axis = axes_of(v, plane).across;
  const std::int64_t behind = axis == 0 ? v.size[1] * v.size[2] : axis == 1 ? v.size[2] : 1;
  std::int64_t first = v.size[axis], last = -1;
  for (std::size_t i = 0; i < v.predicted.size(); ++i) {
    const auto labelled = [i](const std::vector<std::uint8_t>& labels) { return labels[i] != 0; };
    if (!labelled(v.predicted) && !(has_truth(v) && labelled(v.truth)) &&
        std::none_of(more.begin(), more.end(), labelled))
      continue;
    const std::int64_t at = static_cast<std::int64_t>(i) / behind % v.size[axis];
    first = std::min(first, at);
    last = std::max(last, at);
  }
  if (last < 0) {
    first = 0;
    last = v.size[axis] - 1;
  }
  const std::int64_t there = last - first + 1, shown = std::min(count, there);
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < shown; ++i)
    chosen.push_back(first + (2 * i + 1) * there / (2 * shown));
  return chosen;
}

std::string slice_label(const CaseVolume& v, Plane plane, std::int64_t index) {
  const PlaneAxes axes = axes_of(v, plane);
  return fmt::format("{} {}, {:.1f} mm", axes.name, file_index(v.file[axes.across], index),
                     file_millimetres(v, axes.across, index));
}

std::array<std::int64_t, 2> slice_pixels(const CaseVolume& v, Plane plane, const SliceLook& look) {
  double longest = 0, least = v.spacing[0];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    longest = std::max(longest, v.spacing[axis] * static_cast<double>(v.size[axis]));
    least = std::min(least, v.spacing[axis]);
  }
  const double per_mm =
      look.factor > 0 ? static_cast<double>(look.factor) / least : look.longest / longest;
  const auto pixels = [&](std::size_t axis) {
    const double mm = v.spacing[axis] * static_cast<double>(v.size[axis]);
    return std::max<std::int64_t>(1, std::llround(per_mm * mm));
  };
  const PlaneAxes axes = axes_of(v, plane);
  return {pixels(axes.col), pixels(axes.row)};
}

SlicePixels::SlicePixels(const CaseVolume& volume, const ShownSlice& slice, const SliceLook& look)
    : v_(volume),
      slice_(slice),
      axes_(axes_of(volume, slice.plane)),
      look_(look),
      size_(slice_pixels(volume, slice.plane, look)) {}

Canvas SlicePixels::image() const {
  Canvas canvas(size_[0], size_[1]);
  const std::vector<float> values = of(v_.values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint8_t grey = grey_of(values[i], v_.window);
    std::fill_n(canvas.rgb.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, grey);
  }
  return canvas;
}

Canvas SlicePixels::marked(Canvas canvas) const {
  mark(canvas);
  letter(canvas);
  return canvas;
}

Canvas SlicePixels::classes(const std::vector<std::uint8_t>& labels, double share) const {
  const std::vector<std::uint8_t> seen = of(labels);
  return tint_classes(image(), std::vector<std::int64_t>(seen.begin(), seen.end()),
                      class_colours(std::ssize(v_.classes)), share);
}

Canvas SlicePixels::contours() const {
  Canvas canvas = image();
  canvas.fill_rectangle(0, 0, canvas.width, canvas.height, {0, 0, 0}, kDarker);
  const ClassColours colours = class_colours(std::ssize(v_.classes));
  const auto draw = [&](const std::vector<std::uint8_t>& labels, bool coloured,
                        std::int64_t thickness) {
    const std::vector<std::uint8_t> seen = of(labels);
    for (std::size_t k = 1; k < v_.classes.size(); ++k) {
      std::vector<float> mask;
      for (const std::uint8_t label : seen) mask.push_back(label == k ? 1.0f : 0.0f);
      draw_contour(canvas, mask, size_[1], size_[0], 1,
                   coloured ? colours[static_cast<std::int64_t>(k)] : kWhite, thickness);
    }
  };
  if (has_truth(v_)) draw(v_.truth, true, look_.thickness + 1);
  draw(v_.predicted, !has_truth(v_), look_.thickness);
  return canvas;
}

Canvas SlicePixels::errors() const {
  Canvas canvas = image();
  const std::vector<std::uint8_t> truth = of(v_.truth);
  const std::vector<std::uint8_t> predicted = of(v_.predicted);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const VoxelError error = error_of(truth[i], predicted[i]);
    const auto pixel = static_cast<std::int64_t>(i);
    if (error != VoxelError::kNone)
      canvas.blend(pixel % size_[0], pixel / size_[0], colour_of(error), 0.8);
  }
  return canvas;
}

Canvas SlicePixels::map(const CaseMap& map, const Limits& limits, ColourMap colours) const {
  const std::vector<float> seen = of(map.values);
  const Matrix values{size_[1], size_[0], {seen.begin(), seen.end()}};
  return overlay(colourise(positions_of(values, limits), colours), image(), look_.overlay);
}

// A cross with a hole around the voxel.
void SlicePixels::mark(Canvas& canvas) const {
  if (!look_.through) return;
  const auto middle = [&](std::size_t axis, std::int64_t pixels, bool reversed) {
    const std::int64_t n = v_.size[axis], at = (*look_.through)[axis];
    return (2 * (reversed ? n - 1 - at : at) + 1) * pixels / (2 * n);
  };
  const std::int64_t x = middle(axes_.col, size_[0], axes_.cols_reversed);
  const std::int64_t y = middle(axes_.row, size_[1], axes_.rows_reversed);
  for (std::int64_t off = 4; off <= 9; ++off) {
    for (const std::int64_t sign : {-1, 1}) {
      canvas.blend(x + sign * off, y, kTruth, 1);
      canvas.blend(x, y + sign * off, kTruth, 1);
    }
  }
}

// White on a dark shadow. Where it would hide the slice it is left out.
void SlicePixels::letter(Canvas& canvas) const {
  constexpr double kInset = 3;
  const auto wide = static_cast<double>(size_[0]), high = static_cast<double>(size_[1]);
  if (wide < 5 * kLetterSize || high < 5 * kLetterSize) return;
  const double tall = kCapHeight * kLetterSize;
  const auto put = [&](const std::string& text, double x, double baseline) {
    for (const double dx : {-1.0, 0.0, 1.0}) {
      for (const double dy : {-1.0, 0.0, 1.0})
        draw_text(canvas, {x + dx, baseline + dy}, text, kLetterSize, {0, 0, 0});
    }
    draw_text(canvas, {x, baseline}, text, kLetterSize, kWhite);
  };
  const auto width = [](const std::string& text) { return text_width(text, kLetterSize); };
  put(axes_.top, (wide - width(axes_.top)) / 2, kInset + tall);
  put(axes_.bottom, (wide - width(axes_.bottom)) / 2, high - kInset);
  put(axes_.left, kInset, (high + tall) / 2);
  put(axes_.right, wide - kInset - width(axes_.right), (high + tall) / 2);
}

}  // namespace fovea::visualise
