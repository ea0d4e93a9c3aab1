#include "visualise/layouts/volume_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/drawing/montage.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/layouts/overlay.h"

namespace fovea::visualise {
namespace {

constexpr double kTint = 0.55;
constexpr double kDarker = 0.4;  // so that white is seen on bright tissue
constexpr Colour kPredictedContour = kWhite;

constexpr double kLetterSize = 12;

std::size_t axis_of(const CaseVolume& v, Plane plane) { return axes_of(v, plane).across; }

// One column of a figure.
struct ShownSlice {
  Plane plane;
  std::int64_t index;
};

std::vector<ShownSlice> shown_slices(const CaseVolume& v, const SliceLook& look) {
  std::vector<ShownSlice> shown;
  for (const Plane plane : kPlanes) {
    if (look.through) {
      shown.push_back({plane, (*look.through)[axis_of(v, plane)]});
      continue;
    }
    for (const std::int64_t index : chosen_slices(v, plane, look.slices))
      shown.push_back({plane, index});
  }
  return shown;
}

// (rows, cols) of voxels -> (height, width) of pixels, each of the voxel that it lies in.
template <class T>
std::vector<T> stretched(const std::vector<T>& slice, const CaseVolume& v, const PlaneAxes& axes,
                         const std::array<std::int64_t, 2>& pixels) {
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
        axes_(axes_of(volume, slice.plane)),
        look_(look),
        size_(slice_pixels(volume, slice.plane, look)) {}

  Canvas image() const {
    Canvas canvas(size_[0], size_[1]);
    const std::vector<float> values = of(v_.values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint8_t grey = grey_of(values[i], v_.window);
      std::fill_n(canvas.rgb.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, grey);
    }
    return canvas;
  }

  Canvas marked(Canvas canvas) const {
    mark(canvas);
    letter(canvas);
    return canvas;
  }

  Canvas classes(const std::vector<std::uint8_t>& labels) const {
    const std::vector<std::uint8_t> seen = of(labels);
    return tint_classes(image(), std::vector<std::int64_t>(seen.begin(), seen.end()),
                        class_colours(std::ssize(v_.classes)), kTint);
  }

  // The truth's wide, in the colour of the class, and the prediction's on it.
  Canvas contours() const {
    Canvas canvas = image();
    canvas.fill_rectangle(0, 0, canvas.width, canvas.height, {0, 0, 0}, kDarker);
    const ClassColours colours = class_colours(std::ssize(v_.classes));
    const auto draw = [&](const std::vector<std::uint8_t>& labels, bool truth) {
      const std::vector<std::uint8_t> seen = of(labels);
      for (std::size_t k = 1; k < v_.classes.size(); ++k) {
        std::vector<float> mask;
        for (const std::uint8_t label : seen) mask.push_back(label == k ? 1.0f : 0.0f);
        draw_contour(canvas, mask, size_[1], size_[0], 1,
                     truth ? colours[static_cast<std::int64_t>(k)] : kPredictedContour,
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
    return overlay(colourise(positions_of(values, limits), colours), image(), look_.overlay);
  }

 private:
  template <class T>
  std::vector<T> of(const std::vector<T>& voxels) const {
    return stretched(slice_of<T>(voxels, v_.size, axes_, slice_.index), v_, axes_, size_);
  }

  // A cross with a hole around the voxel.
  void mark(Canvas& canvas) const {
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

  // What of the body is at the edges: white on a dark shadow. Where it would hide the slice it is
  // left out.
  void letter(Canvas& canvas) const {
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

  const CaseVolume& v_;
  ShownSlice slice_;
  PlaneAxes axes_;
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
  for (const ShownSlice& slice : shown) {
    const SlicePixels pixels(v, slice, look);
    montage.rows.back().push_back(pixels.marked(draw(pixels)));
  }
}

// Room beside the slices: names of rows, bars, title and margins.
constexpr double kBesideSlices = 300, kAboveSlices = 90, kBetweenSlices = 8;

// Smaller slices where all rows and columns would not fit a page.
SliceLook fitted_to_page(const CaseVolume& v, const std::vector<ShownSlice>& shown,
                         SliceLook look) {
  if (look.factor > 0) return look;
  double width = 0, height = 0;
  for (const ShownSlice& slice : shown) {
    const auto [w, h] = slice_pixels(v, slice.plane, look);
    width += static_cast<double>(w);
    height = std::max(height, static_cast<double>(h));
  }
  const auto rows = static_cast<double>(v.maps.size() + 1);
  const double free_width =
      kPageWidth - kBesideSlices - kBetweenSlices * static_cast<double>(shown.size());
  const double free_height = kPageHeight - kAboveSlices - kBetweenSlices * rows;
  const double share = std::min({1.0, free_width / width, free_height / (rows * height)});
  look.longest = std::max(1.0, std::floor(look.longest * share));
  return look;
}

Limits limits_of_map(const Quantity& quantity, const CaseMap& map) {
  constexpr double kLeast = 0.01;
  Limits limits = limits_of(quantity, std::vector<double>(map.values.begin(), map.values.end()));
  const double more = ((quantity.is_signed ? 2 * kLeast : kLeast) - (limits.high - limits.low)) / 2;
  if (more > 0) limits = {limits.low - more, limits.high + more};
  return limits;
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
        v.regions.empty() ? fmt::format("{}: {}", v.classes[k], dice_text(v.dice[k]))
                          : v.classes[k]);
  // They have the colours of their classes, and none of their own.
  for (std::size_t k = 1; k < v.regions.size(); ++k)
    add(kWhite, fmt::format("{}: {}", v.regions[k], dice_text(v.dice[k])));
  for (const VoxelError error :
       {VoxelError::kFalsePositive, VoxelError::kFalseNegative, VoxelError::kWrongClass}) {
    if (error != VoxelError::kWrongClass || v.classes.size() > 2)
      add(colour_of(error), std::string(name_of(error)));
  }
  return legend;
}

}  // namespace

std::vector<std::int64_t> chosen_slices(const CaseVolume& v, Plane plane, std::int64_t count) {
  const std::size_t axis = axis_of(v, plane);
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

Canvas maps_figure(const std::string& title, const CaseVolume& v, const SliceLook& wanted) {
  check(v);
  FOVEA_CHECK(!v.maps.empty(), ShapeError, fmt::format("{}: has no maps to draw", v.name));
  const std::vector<ShownSlice> shown = shown_slices(v, wanted);
  const SliceLook look = fitted_to_page(v, shown, wanted);
  Montage montage = slice_montage(title, v, shown);
  add_slices(montage, "image", shown, v, look, [](const SlicePixels& s) { return s.image(); });
  const ColourMap colours = palette_of(v.quantity, look.colours);
  for (const CaseMap& map : v.maps) {
    const Limits limits = limits_of_map(v.quantity, map);
    MontageBar bar;
    // Maps count in even shares.
    bar.bar = bar_of(v.quantity, limits, HeatEnds::kPercentiles, look.colours,
                     v.quantity.is_signed ? 0 : 1);
    bar.first = std::ssize(montage.rows);
    bar.count = 1;
    montage.bars.push_back(bar);
    add_slices(montage, map.note.empty() ? map.name : map.name + ", " + map.note, shown, v, look,
               [&](const SlicePixels& s) { return s.map(map, limits, colours); });
  }
  return render(montage);
}

}  // namespace fovea::visualise
