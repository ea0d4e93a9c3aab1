#include "visualise/layouts/prediction_figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "visualise/drawing/montage.h"
#include "visualise/layouts/disagreement.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/layouts/overlay.h"

namespace fovea::visualise {
namespace {

constexpr double kOverImage = 0.5;

void draw_foreground(Canvas& canvas, std::span<const std::int64_t> labels, Colour colour,
                     std::int64_t thickness) {
  const std::vector<float> mask = [&] {
    std::vector<float> values;
    for (const std::int64_t label : labels) values.push_back(label > 0 ? 1.0f : 0.0f);
    return values;
  }();
  draw_contour(canvas, mask, canvas.height, canvas.width, 1, colour, thickness);
}

void draw_boxes(std::vector<Canvas>& pictures, const PredictionRow& row,
                const PredictionFigure& f) {
  std::vector<std::vector<std::int64_t>> all = row.predicted;
  if (!row.truth.empty()) all.push_back(row.truth);
  const std::vector<PixelBox> boxes =
      disagreement_boxes(all, row.image.height, row.image.width, f.boxes);
  for (Canvas& picture : pictures) {
    if (picture.width == 0) continue;
    for (const PixelBox& box : boxes) draw_box(picture, box, f.factor);
  }
}

}  // namespace

Canvas picture_of_classes(const Canvas& image, std::span<const std::int64_t> truth,
                          std::span<const std::int64_t> predicted, const ClassPicture& look) {
  if (look.classes > 2 || !look.background) {
    return tint_classes(greyed(image), predicted.empty() ? truth : predicted,
                        class_colours(look.classes, look.background), kOverImage);
  }
  Canvas canvas = image;
  if (!truth.empty()) draw_foreground(canvas, truth, kTruth, look.thickness);
  if (!predicted.empty()) draw_foreground(canvas, predicted, kPrediction, look.thickness);
  return canvas;
}

Canvas render(const PredictionFigure& f) {
  FOVEA_CHECK(!f.rows.empty() && !f.classes.empty(), ShapeError, "prediction figure: no images");
  Montage montage;
  montage.title = f.title;
  montage.factor = f.factor;
  const bool judged = std::any_of(f.rows.begin(), f.rows.end(),
                                  [](const PredictionRow& row) { return !row.truth.empty(); });
  montage.column_labels = {judged ? "truth" : "image"};
  montage.column_labels.insert(montage.column_labels.end(), f.networks.begin(), f.networks.end());
  const ClassPicture look{std::ssize(f.classes), f.thickness, f.background};
  for (const PredictionRow& row : f.rows) {
    FOVEA_CHECK(row.predicted.size() == f.networks.size(), ShapeError,
                fmt::format("prediction figure: {} has {} predictions of {} networks", row.name,
                            row.predicted.size(), f.networks.size()));
    montage.row_labels.push_back(row.name);
    montage.rows.push_back({!row.truth.empty() ? picture_of_classes(row.image, row.truth, {}, look)
                            : judged           ? Canvas()
                                               : row.image});
    for (const std::vector<std::int64_t>& predicted : row.predicted)
      montage.rows.back().push_back(picture_of_classes(row.image, row.truth, predicted, look));
    if (f.boxes > 0) draw_boxes(montage.rows.back(), row, f);
  }
  std::vector<LegendEntry> legend;
  if (look.classes <= 2 && look.background) {
    legend = {{kPrediction, judged ? "prediction, drawn over it" : "prediction"}};
    if (judged) legend.insert(legend.begin(), {kTruth, "truth"});
  } else {
    const ClassColours colours = class_colours(look.classes, look.background);
    for (std::int64_t k = colours.first; k < look.classes; ++k)
      legend.push_back({colours[k], f.classes[static_cast<std::size_t>(k)]});
  }
  if (f.boxes > 0) legend.push_back(box_legend(f.boxes));
  return with_legend(render(montage), legend);
}

}  // namespace fovea::visualise
