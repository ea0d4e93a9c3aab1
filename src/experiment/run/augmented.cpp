#include "experiment/run/augmented.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backend/devices.h"
#include "data/collate.h"
#include "data/images/image_dataset.h"
#include "data/registry.h"
#include "experiment/run/augmented_boxes.h"
#include "visualise/drawing/montage.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/maps/attention_maps.h"

namespace fovea::experiment {
namespace {

using visualise::Canvas;
using visualise::ClassColours;

constexpr double kMaskTint = 0.5;

Canvas picture_of_sample(std::vector<float> image, const data::ImageDataset& images,
                         bool normalised) {
  const std::int64_t plane = images.height() * images.width();
  for (std::int64_t i = 0; normalised && i < std::ssize(image); ++i) {
    const auto c = static_cast<std::size_t>(i / plane);
    float& value = image[static_cast<std::size_t>(i)];
    value = static_cast<float>(double{value} * images.std()[c] + images.mean()[c]);
  }
  return visualise::picture_of(image, images.channels(), images.height(), images.width());
}

// A class for every pixel: soft masks (1, h, w), or maps of labels (h, w).
std::vector<std::int64_t> labels_of_mask(const Tensor& mask) {
  std::vector<std::int64_t> labels;
  if (mask.dtype() == DType::kInt64) {
    const auto values = mask.host_values<std::int64_t>();
    return {values.begin(), values.end()};
  }
  for (const float value : mask.host_values<float>()) labels.push_back(value >= 0.5f ? 1 : 0);
  return labels;
}

// Under a class the image is grey, so that its own colours do not change that of the class.
Canvas with_mask(const Canvas& image, const Tensor& mask, const ClassColours& colours) {
  const std::vector<std::int64_t> labels = labels_of_mask(mask);
  const Canvas tinted =
      visualise::tint_classes(visualise::greyed(image), labels, colours, kMaskTint);
  Canvas canvas = image;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto pixel = static_cast<std::int64_t>(i);
    const std::int64_t x = pixel % image.width, y = pixel / image.width;
    if (labels[i] < 0 || labels[i] >= colours.first)
      canvas.set(x, y, labels[i] < 0 ? visualise::kMissing : tinted.at(x, y));
  }
  return canvas;
}

// Names of what a mask may hold; none of images without masks.
std::vector<std::string> mask_classes(const data::ImageDataset& images) {
  if (!images.has("mask")) return {};
  const std::vector<std::string>& names = images.class_names();
  return names.size() > 1 ? names : std::vector<std::string>{"background", "mask"};
}

ClassColours mask_colours(const data::ImageDataset& images) {
  return visualise::class_colours(std::ssize(mask_classes(images)), images.has_background());
}

// A batch of these samples as an epoch has it, a picture each.
std::vector<Canvas> pictures_of_epoch(const data::ImageDataset& images,
                                      const std::vector<std::int64_t>& chosen,
                                      const data::Draw& draw) {
  data::Collator collator(images.fields(), std::ssize(chosen), make_cpu(1));
  data::Sample sample;
  for (const std::int64_t i : chosen) {
    collator.next(sample);
    images.prepare(i, draw, sample);
    collator.add(sample);
  }
  data::Batch batch = collator.finish();
  images.mix(batch, draw);
  const Tensor& all = batch.at("image");
  std::vector<Canvas> pictures;
  for (std::int64_t row = 0; row < all.size(0); ++row) {
    const auto values = all.rows(row, row + 1).values<float>();
    pictures.push_back(picture_of_sample({values.begin(), values.end()}, images, true));
    if (images.has("mask"))
      pictures.back() =
          with_mask(pictures.back(), batch.at("mask").rows(row, row + 1), mask_colours(images));
  }
  return pictures;
}

std::string label_of_sample(const data::ImageDataset& images, std::int64_t i) {
  if (!images.has("label")) return fmt::format("{}", i);
  return fmt::format("{}: {}", i, images.class_names()[static_cast<std::size_t>(images.label(i))]);
}

std::vector<visualise::LegendEntry> legend_of_masks(const data::ImageDataset& images) {
  const std::vector<std::string> classes = mask_classes(images);
  const ClassColours colours = mask_colours(images);
  std::vector<visualise::LegendEntry> legend;
  for (std::int64_t k = colours.first; k < std::ssize(classes); ++k)
    legend.push_back({colours[k], classes[static_cast<std::size_t>(k)]});
  if (legend.size() > 1) legend.push_back({visualise::kMissing, "does not count"});
  return legend;
}

}  // namespace

Canvas augmented_figure(const Experiment& e, std::int64_t samples, std::int64_t epochs) {
  const auto train = data::make_dataset(e.dataset, data::Split::kTrain);
  const std::string title = "training images, " + e.dataset.type;
  if (const data::BoxDataset* boxes = data::find_boxes(*train))
    return augmented_boxes(*boxes, title, static_cast<std::uint64_t>(e.seed), samples, epochs);
  const data::ImageDataset& images = data::images_of(*train);
  const std::int64_t count = std::min(samples, images.size());
  std::vector<std::int64_t> chosen;
  visualise::Montage montage;
  montage.title = title;
  montage.factor = std::max<std::int64_t>(1, 128 / std::max(images.height(), images.width()));
  montage.column_labels = {"sample"};
  for (std::int64_t k = 0; k < count; ++k) {
    chosen.push_back(k * images.size() / count);
    montage.row_labels.push_back(label_of_sample(images, chosen.back()));
    const data::Sample sample = images.get(chosen.back());
    const auto values = sample.at("image").values<float>();
    Canvas picture = picture_of_sample({values.begin(), values.end()}, images, false);
    if (images.has("mask")) picture = with_mask(picture, sample.at("mask"), mask_colours(images));
    montage.rows.push_back({std::move(picture)});
  }
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    montage.column_labels.push_back(fmt::format("epoch {}", epoch + 1));
    const data::Draw draw{
        .seed = static_cast<std::uint64_t>(e.seed), .epoch = epoch, .augment = true};
    const auto pictures = pictures_of_epoch(images, chosen, draw);
    for (std::size_t k = 0; k < pictures.size(); ++k) montage.rows[k].push_back(pictures[k]);
  }
  const Canvas grid = visualise::render(montage);
  return images.has("mask") ? visualise::with_legend(grid, legend_of_masks(images)) : grid;
}

}  // namespace fovea::experiment
