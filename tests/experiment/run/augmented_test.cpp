// Training images with their masks.
#include "experiment/run/augmented.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "data/boxes/box_dataset.h"
#include "data/images/image_dataset.h"
#include "data/registry.h"
#include "schema/json/parse.h"
#include "visualise/layouts/detection.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/maps/attention_maps.h"

using namespace fovea;

namespace {

experiment::Experiment experiment_with(const std::string& dataset) {
  return experiment::parse(experiment::resolve(schema::parse(
      R"({"task": "segmentation", "model": {"type": "unet", "widths": [8, 16, 32],
          "decoder_channels": [16, 8]}, "dataset": )" +
          dataset + "}",
      "tiny.json")));
}

std::int64_t pixels_of(const visualise::Canvas& canvas, visualise::Colour colour) {
  std::int64_t count = 0;
  for (std::int64_t y = 0; y < canvas.height; ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x) count += canvas.at(x, y) == colour ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("augmented: masks lie over their images in the colours of their classes",
          "[experiment]") {
  const auto e = experiment_with(
      R"({"type": "synthetic_segmentation", "num_classes": 4, "img_size": 32, "train_size": 8,
          "test_size": 4, "augment": ["horizontal_flip"]})");
  const visualise::Canvas figure = experiment::augmented_figure(e, 2, 3);
  CHECK(pixels_of(figure, visualise::class_colour(1)) >= 100);  // the legend
  // Every pixel of a class in the first sample is tinted, in each of the 16 pixels it is drawn by.
  const auto train = data::make_dataset(e.dataset, data::Split::kTrain);
  const data::Sample sample = data::images_of(*train).get(0);
  const auto values = sample.at("image").host_values<float>();
  const visualise::Canvas image = visualise::picture_of({values.begin(), values.end()}, 3, 32, 32);
  const auto labels = sample.at("mask").host_values<std::int64_t>();
  std::int64_t seen = 0;
  for (std::int64_t i = 0; i < 32 * 32; ++i) {
    const std::int64_t k = labels[static_cast<std::size_t>(i)];
    if (k < 1 || i % 7 != 0) continue;
    visualise::Canvas pixel = visualise::greyed(visualise::Canvas(1, 1, image.at(i % 32, i / 32)));
    pixel.blend(0, 0, visualise::class_colour(k), 0.5);
    CHECK(pixels_of(figure, pixel.at(0, 0)) >= 16);
    if (++seen == 3) break;
  }
  CHECK(seen == 3);
}

TEST_CASE("augmented: objects have frames in the colours of their classes", "[experiment]") {
  experiment::Experiment e;
  e.dataset = {"synthetic_boxes",
               schema::parse(R"({"type": "synthetic_boxes", "train_size": 6, "crowds": 0.3,
                   "masks": true, "augment": ["horizontal_flip", "vertical_flip"]})",
                             "tiny.json")};
  const visualise::Canvas figure = experiment::augmented_figure(e, 6, 2);
  const auto train = data::make_dataset(e.dataset, data::Split::kTrain);
  const data::BoxDataset& boxes = *data::find_boxes(*train);
  std::vector<std::int64_t> frames(6, 0);  // pixels of frames of each class, then of crowds
  for (std::int64_t i = 0; i < boxes.size(); ++i) {
    for (const data::BoxedObject& object : boxes.objects(i)) {
      const auto name = static_cast<std::size_t>(object.label + (object.crowd ? 3 : 0));
      frames[name] += static_cast<std::int64_t>(object.width() + object.height());
    }
  }
  std::int64_t seen = 0;
  for (std::int64_t k = 0; k < 6; ++k) {
    if (frames[static_cast<std::size_t>(k)] == 0) continue;
    INFO(k);
    // Each is drawn three times, five times as large; other objects and names cover some of it.
    CHECK(pixels_of(figure, visualise::object_colour(k)) > 3 * frames[static_cast<std::size_t>(k)]);
    ++seen;
  }
  CHECK(seen >= 4);
}
