#include "visualise/volume_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/heatmap.h"
#include "visualise/label_overlay.h"
#include "visualise/montage.h"
#include "visualise/overlay.h"

namespace fovea::visualise {
namespace {

constexpr double kLongestSide = 256;  // pixels
constexpr double kTint = 0.55;
constexpr double kDarker = 0.4;  // so that white is seen on bright tissue
constexpr Colour kPredictedContour = kWhite;

std::size_t axis_of(Plane plane) { return axes_of(plane).across; }

// One column of a figure.
struct ShownSlice {
  Plane plane;
  std::int64_t index;
};

std::vector<ShownSlice> shown_slices(const CaseVolume& v, const SliceLook& look) {
  std::vector<ShownSlice> shown;
  for (const Plane plane : kPlanes) {
    if (look.through) {
      shown.push_back({plane, (*look.through)[axis_of(plane)]});
      continue;
    }
    for (const std::int64_t index : chosen_slices(v, plane, look.slices))
      shown.push_back({plane, index});
  }
  return shown;
}

// (rows, cols) of voxels -> (height, width) of pixels, each of the voxel that it lies in.
template <class T>
std::vector<T> stretched(const std::vector<T>& slice, const CaseVolume& v, Plane plane,
                         const std::array<std::int64_t, 2>& pixels) {
  const PlaneAxes axes = axes_of(plane);
  const std::int64_t rows = v.size[axes.row], cols = v.size[axes.col];
  const auto [width, height] = pixels;
  std::vector<T> result;
  result.reserve(static_cast<std::size_t>(width * height));
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x)
      result.push_back(
          slice[static_cast<std::size_t>(y * rows / height * cols + x * cols / width)]);
  }
  return result;
}

// The slices of a case as pixels.
class SlicePixels {
 public:
  SlicePixels(const CaseVolume& volume, const ShownSlice& slice, const SliceLook& look)
      : v_(volume),
        slice_(slice),
        look_(look),
        size_(slice_pixels(volume, slice.plane, look.factor)) {}

  Canvas image() const {
    Canvas canvas(size_[0], size_[1]);
    const std::vector<float> values = of(v_.values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint8_t grey = grey_of(values[i], v_.window);
      std::fill_n(canvas.rgb.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, grey);
    }
    mark(canvas);
    return canvas;
  }

  Canvas classes(const std::vector<std::uint8_t>& labels) const {
    const std::vector<std::uint8_t> seen = of(labels);
    return tint_classes(image(), std::vector<std::int64_t>(seen.begin(), seen.end()),
                        class_colours(), kTint);
  }

  // The truth's wide, in the colour of the class, and the prediction's on it.
  Canvas contours() const {
    Canvas canvas = image();
    canvas.fill_rectangle(0, 0, canvas.width, canvas.height, {0, 0, 0}, kDarker);
    const std::vector<Colour> colours = class_colours();
    const auto draw = [&](const std::vector<std::uint8_t>& labels, bool truth) {
      const std::vector<std::uint8_t> seen = of(labels);
      for (std::size_t k = 1; k < v_.classes.size(); ++k) {
        std::vector<float> mask;
        for (const std::uint8_t label : seen) mask.push_back(label == k ? 1.0f : 0.0f);
        draw_contour(canvas, mask, size_[1], size_[0], 1, truth ? colours[k] : kPredictedContour,
                     truth ? look_.thickness + 1 : look_.thickness);
      }
    };
    draw(v_.truth, true);
    draw(v_.predicted, false);
    return canvas;
  }

  Canvas errors() const {
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

  Canvas map(const CaseMap& map, const Limits& limits, ColourMap colours) const {
    const std::vector<float> seen = of(map.values);
    const Matrix values{size_[1], size_[0], {seen.begin(), seen.end()}};
    Canvas canvas = overlay(colourise(scale_between(values, limits.low, limits.high), colours),
                            image(), look_.overlay);
    mark(canvas);
    return canvas;
  }

 private:
  template <class T>
  std::vector<T> of(const std::vector<T>& voxels) const {
    return stretched(slice_of<T>(voxels, v_.size, slice_.plane, slice_.index), v_, slice_.plane,
                     size_);
  }

  std::vector<Colour> class_colours() const {
    std::vector<Colour> colours{kInk};
    for (std::int64_t k = 1; k < std::ssize(v_.classes); ++k) colours.push_back(class_colour(k));
    return colours;
  }

  // A cross with a hole around the voxel.
  void mark(Canvas& canvas) const {
    if (!look_.through) return;
    const PlaneAxes axes = axes_of(slice_.plane);
    const auto middle = [&](std::size_t axis, std::int64_t pixels, bool upwards) {
      const std::int64_t n = v_.size[axis], at = (*look_.through)[axis];
      return (2 * (upwards ? n - 1 - at : at) + 1) * pixels / (2 * n);
    };
    const std::int64_t x = middle(axes.col, size_[0], false);
    const std::int64_t y = middle(axes.row, size_[1], axes.upwards);
    for (std::int64_t off = 4; off <= 9; ++off) {
      for (const std::int64_t sign : {-1, 1}) {
        canvas.blend(x + sign * off, y, kTruth, 1);
        canvas.blend(x, y + sign * off, kTruth, 1);
      }
    }
  }

  const CaseVolume& v_;
  ShownSlice slice_;
  const SliceLook& look_;
  std::array<std::int64_t, 2> size_;
};

Montage slice_montage(const std::string& title, const CaseVolume& v,
                      const std::vector<ShownSlice>& shown) {
  Montage montage;
  montage.title = title;
  montage.factor = 1;
  for (const ShownSlice& slice : shown)
    montage.column_labels.push_back(slice_label(v, slice.plane, slice.index));
  return montage;
}

template <class Draw>
void add_slices(Montage& montage, const std::string& label, const std::vector<ShownSlice>& shown,
                const CaseVolume& v, const SliceLook& look, Draw draw) {
  montage.row_labels.push_back(label);
  montage.rows.emplace_back();
  for (const ShownSlice& slice : shown)
    montage.rows.back().push_back(draw(SlicePixels(v, slice, look)));
}

std::string dice_text(double share) {
  return std::isnan(share) ? "in neither" : fmt::format("Dice {:.1f} %", 100 * share);
}

std::vector<LegendEntry> legend_of(const CaseVolume& v) {
  std::vector<LegendEntry> legend;
  const auto add = [&](Colour colour, std::string text) {
    legend.push_back({colour, std::move(text)});
  };
  for (std::size_t k = 1; k < v.classes.size(); ++k)
    add(class_colour(static_cast<std::int64_t>(k)),
        fmt::format("{}: {}", v.classes[k], dice_text(v.dice[k])));
  for (const VoxelError error :
       {VoxelError::kFalsePositive, VoxelError::kFalseNegative, VoxelError::kWrongClass}) {
    if (error != VoxelError::kWrongClass || v.classes.size() > 2)
      add(colour_of(error), std::string(name_of(error)));
  }
  return legend;
}

}  // namespace

std::vector<std::int64_t> chosen_slices(const CaseVolume& v, Plane plane, std::int64_t count) {
  const std::size_t axis = axis_of(plane);
  const std::int64_t behind = axis == 0 ? v.size[1] * v.size[2] : axis == 1 ? v.size[2] : 1;
  std::int64_t first = v.size[axis], last = -1;
  for (std::size_t i = 0; i < v.truth.size(); ++i) {
    if (v.truth[i] == 0 && v.predicted[i] == 0) continue;
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
  const std::size_t axis = axis_of(plane);
  return fmt::format("{} {}, {:.1f} mm", name_of(plane), index,
                     v.origin[axis] + static_cast<double>(index) * v.spacing[axis]);
}

std::array<std::int64_t, 2> slice_pixels(const CaseVolume& v, Plane plane, std::int64_t factor) {
  double longest = 0, least = v.spacing[0];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    longest = std::max(longest, v.spacing[axis] * static_cast<double>(v.size[axis]));
    least = std::min(least, v.spacing[axis]);
  }
  const double per_mm = factor > 0 ? static_cast<double>(factor) / least : kLongestSide / longest;
  const auto pixels = [&](std::size_t axis) {
    const double mm = v.spacing[axis] * static_cast<double>(v.size[axis]);
    return std::max<std::int64_t>(1, std::llround(per_mm * mm));
  };
  const PlaneAxes axes = axes_of(plane);
  return {pixels(axes.col), pixels(axes.row)};
}

Canvas slices_figure(const std::string& title, const CaseVolume& v, const SliceLook& look) {
  check(v);
  const std::vector<ShownSlice> shown = shown_slices(v, look);
  Montage montage = slice_montage(title, v, shown);
  const auto add = [&](const std::string& label, auto draw) {
    add_slices(montage, label, shown, v, look, draw);
  };
  add("image", [](const SlicePixels& s) { return s.image(); });
  add("truth", [&](const SlicePixels& s) { return s.classes(v.truth); });
  add("prediction", [&](const SlicePixels& s) { return s.classes(v.predicted); });
  add("contours: truth in its colour, prediction white",
      [](const SlicePixels& s) { return s.contours(); });
  add("errors", [](const SlicePixels& s) { return s.errors(); });
  return with_legend(render(montage), legend_of(v));
}

Canvas maps_figure(const std::string& title, const CaseVolume& v, const SliceLook& look) {
  check(v);
  FOVEA_CHECK(!v.maps.empty(), ShapeError, fmt::format("{}: has no maps to draw", v.name));
  const std::vector<ShownSlice> shown = shown_slices(v, look);
  Montage montage = slice_montage(title, v, shown);
  add_slices(montage, "image", shown, v, look, [](const SlicePixels& s) { return s.image(); });
  const ColourMap colours = palette_of(v.quantity, look.colours);
  for (const CaseMap& map : v.maps) {
    const double limit = map_limit(std::vector<double>(map.values.begin(), map.values.end()));
    const Limits limits{v.quantity.is_signed ? -limit : 0, limit};
    MontageBar bar;
    bar.bar = {colours, limits.low, limits.high, v.quantity.name};
    bar.first = std::ssize(montage.rows);
    bar.count = 1;
    montage.bars.push_back(bar);
    add_slices(montage, map.note.empty() ? map.name : map.name + ", " + map.note, shown, v, look,
               [&](const SlicePixels& s) { return s.map(map, limits, colours); });
  }
  return render(montage);
}

}  // namespace fovea::visualise
