#include "visualise/layouts/detection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/drawing/montage.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/maps/attention_maps.h"

namespace fovea::visualise {
namespace {

constexpr double kMaskTint = 0.45;
constexpr double kPlateText = 11;
constexpr std::int64_t kPlateHeight = 15;
constexpr std::int64_t kPlateMargin = 3;

Canvas enlarged(const Canvas& image, std::int64_t factor) {
  if (factor == 1) return image;
  Canvas canvas(image.width * factor, image.height * factor);
  for (std::int64_t y = 0; y < canvas.height; ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x)
      canvas.set(x, y, image.at(x / factor, y / factor));
  }
  return canvas;
}

// Dark text on light plates, white on others.
Colour text_on(Colour plate) {
  return 0.299 * plate.r + 0.587 * plate.g + 0.114 * plate.b > 150 ? kInk : kWhite;
}

void tint(Canvas& canvas, const DrawnObject& object, std::int64_t width, std::int64_t factor) {
  const Colour colour = object_colour(object.label);
  for (std::int64_t y = 0; y < canvas.height; ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x) {
      const auto pixel = static_cast<std::size_t>(y / factor * width + x / factor);
      if (object.mask[pixel] != 0) canvas.blend(x, y, colour, kMaskTint);
    }
  }
}

struct Corners {
  std::int64_t x1, y1, x2, y2;
};

// In whole pixels of the picture, of which a box of no area still covers one.
Corners corners_of(const DrawnObject& object, std::int64_t factor) {
  const auto scaled = [&](double at) {
    return static_cast<std::int64_t>(std::lround(at * static_cast<double>(factor)));
  };
  const auto& [x1, y1, x2, y2] = object.box;
  const std::int64_t left = scaled(x1), top = scaled(y1);
  return {left, top, std::max(left + 1, scaled(x2)), std::max(top + 1, scaled(y2))};
}

// Above the box, or inside it where there is no room above.
void draw_plate(Canvas& canvas, const DrawnObject& object, const std::string& name,
                const Corners& at) {
  std::string text = name;
  if (object.score) text += fmt::format("{}{:.2f}", name.empty() ? "" : " ", *object.score);
  if (text.empty()) return;
  const Colour colour = object_colour(object.label);
  const auto width =
      static_cast<std::int64_t>(std::ceil(text_width(text, kPlateText))) + 2 * kPlateMargin;
  const std::int64_t top =
      at.y1 >= kPlateHeight ? at.y1 - kPlateHeight : std::max<std::int64_t>(0, at.y1);
  const std::int64_t left =
      std::clamp<std::int64_t>(at.x1, 0, std::max<std::int64_t>(0, canvas.width - width));
  canvas.fill_rectangle(left, top, width, kPlateHeight, colour, 0.85);
  const double baseline = static_cast<double>(top) + (kPlateHeight + kCapHeight * kPlateText) / 2;
  draw_text(canvas, {static_cast<double>(left + kPlateMargin), baseline}, text, kPlateText,
            text_on(colour));
}

}  // namespace

Colour object_colour(std::int64_t label) { return class_colour(label + 1); }

Canvas draw_objects(const Canvas& image, std::span<const DrawnObject> objects,
                    const std::vector<std::string>& classes, std::int64_t factor) {
  for (const DrawnObject& object : objects) {
    FOVEA_CHECK(
        object.label >= 0 && object.label < std::ssize(classes), ShapeError,
        fmt::format("detections: class {}; there are {} names", object.label, classes.size()));
    FOVEA_CHECK(object.mask.empty() || std::ssize(object.mask) == image.height * image.width,
                ShapeError,
                fmt::format("detections: a mask of {} pixels for an image of {} x {}",
                            object.mask.size(), image.height, image.width));
  }
  Canvas canvas = enlarged(image, factor);
  for (std::size_t i = objects.size(); i-- > 0;) {
    if (!objects[i].mask.empty()) tint(canvas, objects[i], image.width, factor);
  }
  for (std::size_t i = objects.size(); i-- > 0;) {
    const Corners at = corners_of(objects[i], factor);
    canvas.frame(at.x1, at.y1, at.x2 - at.x1, at.y2 - at.y1, object_colour(objects[i].label), 2);
  }
  for (std::size_t i = objects.size(); i-- > 0;) {
    // A name that all have says nothing, and hides small objects.
    const std::string name =
        classes.size() > 1 ? classes[static_cast<std::size_t>(objects[i].label)] : "";
    draw_plate(canvas, objects[i], name, corners_of(objects[i], factor));
  }
  return canvas;
}

Canvas detection_grid(const std::string& title, const std::vector<std::string>& classes,
                      const std::vector<DetectedImage>& images, std::int64_t factor) {
  FOVEA_CHECK(!images.empty(), ShapeError, "detection grid: no images");
  Montage montage;
  montage.title = title;
  montage.factor = 1;
  montage.column_labels = {"truth", "prediction"};
  for (const DetectedImage& one : images) {
    const std::int64_t largest = std::max<std::int64_t>(1, std::max(one.height, one.width));
    const std::int64_t enlarge =
        factor > 0 ? factor : std::max<std::int64_t>(1, (480 + largest / 2) / largest);
    const Canvas image = picture_of(one.image, one.channels, one.height, one.width);
    montage.rows.push_back({draw_objects(image, one.truth, classes, enlarge),
                            draw_objects(image, one.found, classes, enlarge)});
    montage.row_labels.push_back(one.label);
  }
  return render(montage);
}

}  // namespace fovea::visualise
