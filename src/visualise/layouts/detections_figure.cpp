#include "visualise/layouts/detections_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/drawing/montage.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/plots/plot.h"

namespace fovea::visualise {
namespace {

constexpr Colour kPlace{0, 158, 115};  // green: in none of the palettes of weights
constexpr double kBarText = 11;
constexpr std::int64_t kLeastPlot = 200;  // pixels of a side that bars with their axes need

// The upper left part of a picture, with white where it ends before.
Canvas cut(const Canvas& picture, std::int64_t height, std::int64_t width) {
  Canvas part(width, height);
  part.blit(picture, 0, 0);
  return part;
}

// The box on white, so that it is seen on any colour, and the place.
void mark_place(Canvas& canvas, const DetectionLook& look, std::int64_t factor,
                const Canvas& image) {
  const auto& box = look.object.box;
  const auto scaled = [&](double at) {
    return static_cast<std::int64_t>(std::lround(at * static_cast<double>(factor)));
  };
  const std::int64_t x = scaled(box[0]), y = scaled(box[1]);
  const std::int64_t w = std::max<std::int64_t>(1, scaled(box[2]) - x);
  const std::int64_t h = std::max<std::int64_t>(1, scaled(box[3]) - y);
  canvas.frame(x - 1, y - 1, w + 2, h + 2, kWhite, 4);
  canvas.frame(x, y, w, h, object_colour(look.object.label), 2);
  const std::int64_t side = 7;
  const auto at = [&](double share, std::int64_t size) {
    return scaled(share * static_cast<double>(size)) - side / 2;
  };
  const std::int64_t left = at(look.place.x, image.width), top = at(look.place.y, image.height);
  canvas.fill_rectangle(left - 1, top - 1, side + 2, side + 2, kWhite);
  canvas.fill_rectangle(left, top, side, side, kPlace);
}

Canvas with_bar(const Canvas& picture, const ColourBar& bar) {
  const auto least =
      static_cast<std::int64_t>(std::ceil(colour_bar_least_length(bar, kBarText, false))) + 1;
  constexpr std::int64_t kGap = 6;
  const std::int64_t width = std::max(picture.width, least);
  const auto length = static_cast<double>(width - 1);
  const double breadth = colour_bar_breadth(bar, length, kBarText, false);
  Canvas canvas(width, picture.height + kGap + static_cast<std::int64_t>(std::ceil(breadth)) + 2);
  canvas.blit(picture, (width - picture.width) / 2, 0);
  CanvasPainter painter(canvas, 1);
  draw_colour_bar(bar, {0, static_cast<double>(picture.height + kGap)}, length, kBarText, false,
                  painter);
  return canvas;
}

Canvas map_picture(const DetectionsFigure& f, const DetectionsRow& row, const DetectionLook& look) {
  const Canvas large = enlarge(row.image, f.factor);
  std::vector<double> counted = look.weights.values;
  if (look.own >= 0 && look.own < std::ssize(counted)) counted.erase(counted.begin() + look.own);
  const HeatEnds ends = HeatEnds::kPercentiles;
  const Limits limits = limits_of(look.quantity, counted, ends, look.even);
  const Matrix heat = heat_map(look.weights, large.height, large.width, f.smooth);
  const Canvas coloured =
      colourise(positions_of(heat, limits), palette_of(look.quantity, f.sequential, ends));
  Canvas picture =
      cut(overlay(coloured, greyed(large), f.overlay), f.factor * row.height, f.factor * row.width);
  mark_place(picture, look, f.factor, row.image);
  ColourBar bar = bar_of(look.quantity, limits, ends, f.sequential, look.even);
  bar.label = look.layer + ": " + bar.label;
  return with_bar(picture, bar);
}

Canvas layer_bars(const DetectionsFigure& f, const DetectionsRow& row, const DetectionLook& look) {
  LinePlot plot;
  plot.title = look.layer;
  plot.x_label = look.carried ? "layer; 0 = all before" : "layer";
  plot.y_label = "weight, mean over heads";
  plot.y_low = 0;
  plot.width = static_cast<double>(std::max(kLeastPlot, f.factor * row.width));
  plot.height = static_cast<double>(std::max(kLeastPlot, f.factor * row.height));
  Series bars;
  bars.bars = true;
  for (std::size_t i = 0; i < look.layers.size(); ++i) {
    bars.x.push_back(static_cast<double>(i) + (look.carried ? 0 : 1));
    bars.y.push_back(look.layers[i]);
  }
  plot.series = {std::move(bars)};
  return render(plot, 1);
}

void check(const DetectionsFigure& f) {
  FOVEA_CHECK(!f.rows.empty(), ShapeError, "detections figure: no images; expected at least one");
  for (const DetectionsRow& row : f.rows) {
    FOVEA_CHECK(row.height >= 1 && row.width >= 1 && row.height <= row.image.height &&
                    row.width <= row.image.width,
                ShapeError,
                fmt::format("detections figure: {} x {} pixels of an image of {} x {}", row.height,
                            row.width, row.image.height, row.image.width));
  }
}

}  // namespace

Canvas render(const DetectionsFigure& f) {
  check(f);
  Montage montage;
  montage.title = f.title;
  montage.factor = 1;  // boxes are drawn on the enlarged pictures
  montage.column_labels = {"truth", "found"};
  std::size_t looks = 0;
  for (const DetectionsRow& row : f.rows) {
    const Canvas image = cut(row.image, row.height, row.width);
    montage.row_labels.push_back(row.name);
    std::vector<Canvas>& pictures = montage.rows.emplace_back();
    std::vector<std::string>& captions = montage.captions.emplace_back(2);
    pictures.push_back(row.has_truth ? draw_objects(image, row.truth, f.classes, f.factor)
                                     : Canvas());
    pictures.push_back(draw_objects(image, row.found, f.classes, f.factor));
    for (const DetectionLook& look : row.looks) {
      pictures.push_back(look.weights.values.empty() ? layer_bars(f, row, look)
                                                     : map_picture(f, row, look));
      captions.push_back(look.name);
    }
    looks = std::max(looks, row.looks.size());
    // Tops of pictures stand on one line, whatever is below them.
    std::int64_t tallest = 0;
    for (const Canvas& picture : pictures) tallest = std::max(tallest, picture.height);
    for (Canvas& picture : pictures) {
      if (picture.height > 0) picture = cut(picture, tallest, picture.width);
    }
  }
  montage.column_labels.resize(2 + looks);
  return render(montage);
}

}  // namespace fovea::visualise
