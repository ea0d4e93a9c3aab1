#include "visualise/layouts/volume_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/drawing/montage.h"
#include "visualise/layouts/label_overlay.h"

namespace fovea::visualise {
namespace {

std::vector<ShownSlice> shown_slices(const CaseVolume& v, const SliceLook& look) {
  std::vector<ShownSlice> shown;
  for (const Plane plane : kPlanes) {
    if (look.through) {
      shown.push_back({plane, (*look.through)[axes_of(v, plane).across]});
      continue;
    }
    for (const std::int64_t index : chosen_slices(v, plane, look.slices))
      shown.push_back({plane, index});
  }
  return shown;
}

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

// ": Dice 81.2 %"; nothing without truth.
std::string dice_text(const CaseVolume& v, std::size_t k) {
  if (!has_truth(v)) return "";
  return std::isnan(v.dice[k]) ? ": in neither" : fmt::format(": Dice {:.1f} %", 100 * v.dice[k]);
}

std::vector<LegendEntry> legend_of(const CaseVolume& v) {
  std::vector<LegendEntry> legend;
  const auto add = [&](Colour colour, std::string text) {
    legend.push_back({colour, std::move(text)});
  };
  for (std::size_t k = 1; k < v.classes.size(); ++k)
    add(class_colour(static_cast<std::int64_t>(k)),
        v.classes[k] + (v.regions.empty() ? dice_text(v, k) : ""));
  if (!has_truth(v)) return legend;
  // They have the colours of their classes, and none of their own.
  for (std::size_t k = 1; k < v.regions.size(); ++k) add(kWhite, v.regions[k] + dice_text(v, k));
  for (const VoxelError error :
       {VoxelError::kFalsePositive, VoxelError::kFalseNegative, VoxelError::kWrongClass}) {
    if (error != VoxelError::kWrongClass || v.classes.size() > 2)
      add(colour_of(error), std::string(name_of(error)));
  }
  return legend;
}

}  // namespace

Canvas slices_figure(const std::string& title, const CaseVolume& v, const SliceLook& look) {
  check(v);
  const std::vector<ShownSlice> shown = shown_slices(v, look);
  Montage montage = slice_montage(title, v, shown);
  const auto add = [&](const std::string& label, auto draw) {
    add_slices(montage, label, shown, v, look, draw);
  };
  add("image", [](const SlicePixels& s) { return s.image(); });
  if (has_truth(v)) add("truth", [&](const SlicePixels& s) { return s.classes(v.truth); });
  add("prediction", [&](const SlicePixels& s) { return s.classes(v.predicted); });
  add(has_truth(v) ? "contours: truth in its colour, prediction white" : "contours",
      [](const SlicePixels& s) { return s.contours(); });
  if (has_truth(v)) add("errors", [](const SlicePixels& s) { return s.errors(); });
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
